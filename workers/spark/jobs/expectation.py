"""What the next batch probably has: many records of the layouts that records had before, or that the first unread ones have.

If this is true, the batch is read more quickly. If not, the same is read.

Java must compile new code whenever something else is expected. So a mirror of few layouts expects all that it has seen, and a mirror of
many those that many records have.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from pyspark.sql import DataFrame

from workers.spark.topics.formats import Format
from workers.spark.topics.known import Known, TopicState, Unreadable
from workers.spark.topics.readings import MANY
from workers.spark.topics.records import Embedded
from workers.spark.topics.survey import Group, Survey, Usual
from workers.spark.topics.topic import LayoutPlace, Texts, Topic, schemas_of

EXPECTED: Final = 10
"""The most layouts that are expected. A record is compared with the schemas of all of them."""
_NEW: Final = TopicState()


class Expectation:
    """The expected layouts of the next batch, none at first."""

    def __init__(self, format_: Format) -> None:
        self._format = format_
        self._places: Sequence[LayoutPlace] = ()
        self._schemas: Sequence[Embedded] = ()
        self._layouts: Sequence[Usual] = ()
        self._cut = format_.cut
        self._survey = Survey(format_.signs)
        self.texts: Texts = {}
        """The schemas of the first records of topics that earlier batches did not have."""

    def cut(self, records: DataFrame) -> DataFrame:
        """The cut records. The expected schemas need not be searched for."""
        return self._cut(records)

    def survey(self, cut: DataFrame) -> Sequence[Group]:
        """The groups of cut records. Those of expected layouts are searched only for what they may have."""
        return self._survey.groups(cut)

    def backlog(self, large: set[str], known: Mapping[str, TopicState], first: Callable[[Collection[str]], DataFrame]) -> bool:
        """Expect many records of the topics ``large``. Return whether all of them are known now.

        ``known`` are the states of topics after earlier batches. Of other topics the records that ``first`` reads are looked at.
        """
        states = {name: state for name, state in known.items() if state.layouts and (name in large or _are_few(known))}
        new = large - states.keys()
        if new and self._format.embedded is not None:
            self.texts = self._format.embedded(first(sorted(new)))
            for (name, value, key), text in self.texts.items():
                if not isinstance(text, Unreadable) and text.value is not None:
                    states[name] = TopicState(layouts=(Known(value, key, text.value, text.key, (0, 0)),))
        # A topic may have had many layouts. Its next records have the newest one, or a newer one.
        newest = {name: max(state.layouts, key=lambda known: known.newest) for name, state in states.items()}
        places = [(name, known.value, known.key) for name, known in newest.items()]
        self._expect(sorted(places, key=lambda place: place[0] in large)[-EXPECTED:], states)
        return large <= states.keys()

    def after(self, groups: Iterable[Group], states: Mapping[str, TopicState]) -> None:
        """Expect the layouts of those ``groups`` of the last batch that have many records, or of all. ``states`` are those after it.

        A layout stays expected until :data:`EXPECTED` others are, so that the code which Spark makes for the cut stays the same.
        """
        self.texts = {}
        least = 1 if _are_few(states) else MANY
        many = [(group.topic, group.layout, group.key_layout) for group in groups if group.records >= least]
        new = [place for place in many if place not in self._places]
        # If batches have more of them, those that are expected stay. Otherwise they would take turns.
        others, again = [place for place in self._places if place not in many], [place for place in self._places if place in many]
        expected = [*others, *new, *again][-EXPECTED:]
        if set(expected) != set(self._places):
            self._expect(expected, states)

    def _expect(self, places: Sequence[LayoutPlace], states: Mapping[str, TopicState]) -> None:
        self._places = places
        schemas = schemas_of(places, states)
        read = {name: state for name in {place[0] for place in places} if (state := states.get(name, _NEW)).aside is None}
        topics = {name: Topic(name, state, self._format.schemas.layout) for name, state in read.items()}
        found = ((place, topics[place[0]].layout(place[1], place[2])) for place in places if place[0] in topics)
        layouts = [Usual(*place, layout.signs, bool(layout.key)) for place, layout in found if layout is not None]
        if schemas != self._schemas and self._format.cut_usual is not None:
            self._cut = self._format.cut_usual(schemas)
        if layouts != self._layouts:
            self._survey = Survey(self._format.signs, layouts)
        self._schemas, self._layouts = schemas, layouts


def _are_few(states: Mapping[str, TopicState]) -> bool:
    """Whether all layouts that topics have had can be expected."""
    return sum(len(state.layouts) for state in states.values()) <= EXPECTED
