from __future__ import annotations

from random import Random

from tests.differential.groovy.comparison import REFUSED, difference, ours
from tests.differential.groovy.records import random_records, record_json
from tests.differential.groovy.scripts import Script, random_script
from tests.support.each_case import each_case


def test_a_seed_gives_the_same_scripts_and_records() -> None:
    made = [[random_script(Random(seed)).text() for seed in range(50)] for _ in range(2)]
    assert made[0] == made[1]
    assert len(set(made[0])) > 40
    records = [[record_json(record) for record in random_records(Random(7))] for _ in range(2)]
    assert records[0] == records[1]


def test_scripts_are_made_smaller() -> None:
    script = Script(
        "bool", "(<num> > <num>)", (Script("int", "(<int> + <int>)", (Script("int", "1"), Script("int", "22"))), Script("int", "3"))
    )
    assert script.text() == "((1 + 22) > 3)"
    smaller = {each.text() for each in script.smaller()}
    assert {"(1 + 22)", "3", "true", "(22 > 3)", "((1 + 1) > 3)"} <= smaller
    assert all(len(text) <= len(script.text()) for text in smaller)


def test_answers_have_the_class_of_java() -> None:
    records = random_records(Random(1))[:1]
    answers = {
        script: (ours(script, records) or ["refused"])[0]
        for script in ("1", "2L", "[1, 'a']", "[a: null]", '"$topic"', "1.5 / 0", "new X()")
    }
    assert answers == {
        "1": "Integer:1",
        "2L": "Long:2",
        "[1, 'a']": "List[Integer:1, String:a]",
        "[a: null]": "Map[String:a: null]",
        '"$topic"': "GStringImpl:shop.public.orders",
        "1.5 / 0": "!Division by zero",
        "new X()": "refused",
    }


@each_case(
    ("real", "own", "kind"),
    [
        (["Integer:1"], ["Integer:1"], None),
        (["Integer:1"], ["Long:1"], "value"),
        (["Integer:1", "!X"], ["Integer:1", "!Division by zero"], None),
        (["Integer:1"], ["!Division by zero"], "fails here"),
        (["!X"], ["Integer:1"], "works here"),
        (["?X"], None, None),
        (["Integer:1"], None, REFUSED),
        (["!X"], None, None),
        (["!X"], ["!! TypeError()"], "crash"),
        (["~"], ["Integer:1"], None),
        (["Double:1.0000000000000002E10"], ["Double:1.0E10"], "value"),
        (["Double:2.0999999999999998E22"], ["Double:2.1E22"], None),
        (["String:at 2.0999999999999998E22"], ["String:at 2.1E22"], None),
        (["String:at 1.500000"], ["String:at 1.5"], "value"),
        (["List[BigDecimal:0.33333333333333333]"], ["List[BigDecimal:0.3333333333333333]"], "value"),
        (["Double:1.0E7"], ["Double:10000000.0"], "value"),
        (["Float:2.14748365E9"], ["Float:2.1474836E9"], None),
        (["byte[]:[B@1c2b"], ["HeapByteBuffer:java.nio.HeapByteBuffer[pos=0 lim=2 cap=2]"], None),
    ],
)
def test_what_differs_is_named(real: list[str], own: list[str] | None, kind: str | None) -> None:
    assert difference(real, own) == kind
