from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connector.delivery.flush import AckLedger


def test_without_batches_a_position_is_reached_at_once() -> None:
    ledger: AckLedger[int] = AckLedger()
    assert ledger.idle
    assert ledger.reached is None
    ledger.mark(5)
    assert ledger.reached == 5


def test_the_later_position_of_the_same_batches_counts() -> None:
    ledger: AckLedger[int] = AckLedger()
    batch = ledger.open_batch()
    ledger.mark(1)
    ledger.mark(2)
    assert (ledger.reached, ledger.idle) == (None, False)
    ledger.acknowledge(batch)
    assert (ledger.reached, ledger.idle) == (2, True)


def test_a_batch_that_is_never_acknowledged_holds_everything_after_it() -> None:
    ledger: AckLedger[int] = AckLedger()
    first = ledger.open_batch()
    ledger.mark(1)
    failed = ledger.open_batch()
    ledger.mark(2)
    for position in range(3, 10):
        batch = ledger.open_batch()
        ledger.mark(position)
        ledger.acknowledge(batch)
    ledger.acknowledge(first)
    assert ledger.reached == 1
    assert not ledger.idle
    ledger.acknowledge(failed)
    assert ledger.reached == 9


def test_a_batch_is_acknowledged_once() -> None:
    ledger: AckLedger[int] = AckLedger()
    batch = ledger.open_batch()
    ledger.acknowledge(batch)
    with pytest.raises(KeyError):
        ledger.acknowledge(batch)


def check(steps: list[int], order: list[int]) -> None:
    """``steps``: how many positions are marked after each batch is opened; ``order``: the acknowledgements after that."""
    ledger: AckLedger[tuple[int, int]] = AckLedger()
    batches: list[int] = []
    marked: list[tuple[int, int]] = []
    for marks in steps:
        batches.append(ledger.open_batch())
        for nth in range(marks):
            # A position names the batches opened before it and its place among them.
            marked.append((len(batches), nth))
            ledger.mark(marked[-1])
    acknowledged: set[int] = set()
    for index in order:
        ledger.acknowledge(batches[index])
        acknowledged.add(index)
        safe = next((n for n in range(len(batches)) if n not in acknowledged), len(batches))
        reachable = [position for position in marked if position[0] <= safe]
        assert ledger.reached == (reachable[-1] if reachable else None)
        assert ledger.idle == (len(acknowledged) == len(batches))


@pytest.mark.parametrize("steps", [[1], [1, 1, 1, 1, 1], [0, 1, 2, 0, 1], [2, 0, 0, 2, 0], [0, 0, 0, 0, 3]])
def test_every_order_of_acknowledgements(steps: list[int]) -> None:
    for order in permutations(range(len(steps))):
        check(steps, list(order))


def test_every_small_interleaving_of_open_mark_and_acknowledge() -> None:
    """All programs of up to eight steps: after each, exactly the latest position without open batches before it is reached."""

    def walk(program: tuple[str, ...]) -> int:
        ledger: AckLedger[int] = AckLedger()
        open_batches: list[int] = []
        opened = 0
        marks: list[int] = []
        for step in program:
            if step == "o":
                opened += 1
                open_batches.append(ledger.open_batch())
            elif step == "m":
                marks.append(opened)
                ledger.mark(len(marks))
            else:
                ledger.acknowledge(open_batches.pop(int(step)))
            safe = min(open_batches) - 1 if open_batches else opened
            reached = [number for number, needs in enumerate(marks, 1) if needs <= safe]
            assert ledger.reached == (reached[-1] if reached else None), program
            assert ledger.idle == (not open_batches), program
        seen = 1
        if len(program) < 8:
            choices = ["m", *(str(n) for n in range(len(open_batches)))]
            if opened < 4:
                choices.append("o")
            for choice in choices:
                # Two marks in a row are covered by the tables above; leaving them out keeps this in milliseconds.
                if not (choice == "m" and program[-1:] == ("m",)):
                    seen += walk((*program, choice))
        return seen

    assert walk(()) > 1000


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=40).flatmap(
        lambda steps: st.tuples(st.just(steps), st.permutations(range(len(steps))))
    )
)
def test_many_batches_in_any_order(case: tuple[list[int], list[int]]) -> None:
    check(*case)
