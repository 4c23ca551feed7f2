"""When the code of a mirror's batch is compiled."""

from __future__ import annotations

from workers.spark.compilation import COMPILED, SMALL, TOPICS, Compilation


def test_a_large_batch_is_compiled() -> None:
    compilation = Compilation()
    assert not compilation.wanted
    assert not compilation.decide([("a", COMPILED - 1)])
    assert Compilation().decide([("a", COMPILED - 1), ("b", 5), ("a", 1)])
    assert Compilation().decide([("a", COMPILED), *((f"t{number}", 1) for number in range(TOPICS))])


def test_batches_of_a_topic_with_many_records_so_far_are_compiled() -> None:
    compilation = Compilation()
    for _ in range(9):
        assert not compilation.decide([("a", COMPILED // 10), ("b", COMPILED // 10)])
    assert compilation.decide([("a", COMPILED // 10), ("b", COMPILED // 10)])
    assert compilation.wanted
    assert compilation.decide([("b", SMALL + 1)])
    assert not compilation.decide([("c", SMALL + 1)])
    assert not compilation.wanted


def test_small_batches_are_not() -> None:
    compilation = Compilation()
    assert compilation.decide([("a", COMPILED)])
    assert not compilation.decide([("a", SMALL)])
    assert not compilation.decide([])
    assert compilation.decide([("a", SMALL + 1)])


def test_the_code_of_more_topics_than_spark_keeps_is_not() -> None:
    compilation = Compilation()
    assert compilation.decide([("a", COMPILED)])
    assert not compilation.decide([("a", SMALL), *((f"t{number}", 1) for number in range(TOPICS))])
    for number in range(TOPICS - 1):
        assert compilation.decide([("a", SMALL), (f"t{number}", 1)])
    assert not compilation.decide([("a", SMALL), ("another", 1)])
    assert compilation.decide([("a", SMALL), ("t0", 1), ("t1", 1)])
    assert compilation.decide([("another", COMPILED)])


def test_the_first_batch_of_many_unread_records_is_compiled_and_stays_so() -> None:
    compilation = Compilation()
    compilation.expect({"a": COMPILED - 1, "b": COMPILED - 1})
    assert not compilation.wanted
    compilation.expect({"a": COMPILED, "b": 1})
    assert compilation.wanted
    # The batch itself may be smaller than what is unread.
    assert compilation.decide([("a", SMALL + 1)])
    assert not Compilation().decide([("a", SMALL + 1)])
