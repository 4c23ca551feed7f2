"""Each transform of Debezium can be made in each version that has it."""

from __future__ import annotations

from connector.configdef.options import OptionError, Options
from connector.emulation import EMULATIONS, Emulation
from connector.transforms.catalog import TRANSFORMS
from connector.transforms.transform import TransformDefinition
from tests.support.each_case import each_case

OF_DEBEZIUM = [
    (definition, emulation)
    for name, definition in sorted(TRANSFORMS.items())
    for emulation in EMULATIONS
    if name.startswith("io.debezium.") and emulation.version in definition.versions
]


@each_case(("definition", "emulation"), OF_DEBEZIUM, ids=lambda each: each.version if isinstance(each, Emulation) else each.name)
def test_it_is_made_or_names_the_option_that_it_needs(definition: TransformDefinition, emulation: Emulation) -> None:
    try:
        made = definition.make(Options(definition.keys_in(emulation.version), {}, emulation))
    except OptionError as problem:
        assert str(problem)  # noqa: PT017 (either is right; any other exception is not)
    else:
        assert callable(made.apply)
