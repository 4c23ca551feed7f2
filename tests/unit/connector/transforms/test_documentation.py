"""``docs/transforms.md`` is made from the definitions."""

from connector.transforms.catalog import PREDICATES, TRANSFORMS
from connector.transforms.documentation import render
from tests.support.project import DOCS


def test_the_page_is_current() -> None:
    page = (DOCS / "transforms.md").read_text(encoding="utf-8")
    assert page == render(), "run: python -m connector.transforms.documentation > docs/transforms.md"


def test_every_class_and_option_is_on_the_page() -> None:
    page = render()
    names = [name.rpartition(".")[2] for name in (*TRANSFORMS, *PREDICATES)]
    keys = [definition.keys for definition in TRANSFORMS.values()] + [definition.keys for definition in PREDICATES.values()]
    options = [f"`{key.name}`" for each in keys for key in each]
    assert [name for name in (*names, *options) if name not in page] == []
