"""``docs/types.md`` is made from the type table."""

from connector.config.keys import keys_in
from connector.configdef.key import VERSIONS
from connector.types.codec import TypeSettings
from connector.types.documentation import render, versions_of
from connector.types.registry import _BUILT_IN, _EXTENSIONS
from connector.types.samples import MODES, SECTIONS
from tests.support.project import DOCS


def test_the_page_is_current() -> None:
    page = (DOCS / "types.md").read_text(encoding="utf-8")
    assert page == render(), "run: python -m connector.types.documentation > docs/types.md"


def test_every_mapped_type_has_a_sample() -> None:
    samples = [sample for section in SECTIONS.values() for sample in section]
    assert {sample.name for sample in samples if not sample.extension} == _BUILT_IN.keys()
    assert {sample.name for sample in samples if sample.extension} == _EXTENSIONS.keys()


def test_the_page_shows_every_value_of_the_properties() -> None:
    for version in VERSIONS:
        listed = {key.name: key for key in keys_in(version)}
        for name, modes in MODES.items():
            shown = {mode for mode in modes if version in [emulation.version for emulation in versions_of(mode)]}
            assert (version, shown) == (version, set(listed[name].choices_in(version)))


def test_the_first_value_is_the_default() -> None:
    for name, modes in MODES.items():
        assert modes[0] == getattr(TypeSettings(), name.replace(".", "_"))
