from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.group.assignment import Assignment, Claim, Owners, assign

NAMES = [f"c{n}" for n in range(12)]


def claim(worker: str, owned: Sequence[str] = (), generation: int = 1) -> Claim:
    return Claim(worker, f"http://{worker}", generation if owned else 0, tuple(owned))


def counts(assignment: Assignment) -> dict[str, int]:
    return dict(Counter(assignment.owners.values()))


def test_the_first_worker_has_everything() -> None:
    found = assign("a", [claim("a")], NAMES, 7)
    assert (found.leader, found.offset, found.moving) == ("a", 7, {})
    assert found.owners == dict.fromkeys(NAMES, "a")
    assert found.workers == {"a": "http://a"}


def test_free_connectors_are_spread() -> None:
    assert counts(assign("a", [claim("a"), claim("b"), claim("c")], NAMES, 0)) == {"a": 4, "b": 4, "c": 4}


def test_a_worker_that_comes_gets_its_share_in_two_steps() -> None:
    first = assign("a", [claim("a", NAMES[:6]), claim("b", NAMES[6:]), claim("c")], NAMES, 0)
    assert first.owners == {**dict.fromkeys(NAMES[:4], "a"), **dict.fromkeys(NAMES[6:10], "b")}
    assert first.moving == {"c4": "a", "c5": "a", "c10": "b", "c11": "b"}
    second = assign("a", [claim("a", NAMES[:4]), claim("b", NAMES[6:10]), claim("c")], NAMES, 0)
    assert counts(second) == {"a": 4, "b": 4, "c": 4}
    assert second.moving == {}
    assert {name for name, worker in second.owners.items() if worker == "c"} == set(first.moving)


def test_a_lost_worker_s_connectors_are_spread_and_no_others_move() -> None:
    found = assign("b", [claim("b", NAMES[4:8]), claim("c", NAMES[8:])], NAMES, 0)
    assert found.moving == {}
    assert counts(found) == {"b": 6, "c": 6}
    assert all(found.owners[name] == "b" for name in NAMES[4:8])
    assert all(found.owners[name] == "c" for name in NAMES[8:])


def test_a_difference_of_one_moves_nothing() -> None:
    assert assign("a", [claim("a", NAMES[:3]), claim("b", NAMES[3:5])], NAMES[:5], 0).moving == {}


def test_of_two_claims_the_younger_generation_s_is_right() -> None:
    found = assign("b", [claim("a", ["c0", "c1"], 4), claim("b", ["c0", "c1"], 5)], NAMES[:2], 0)
    # The other worker was out of its group for a while: what it still runs ends, and it gets its share of the rest.
    assert found.owners == {"c0": "b"}
    assert found.moving == {"c1": "b"}


def test_a_deleted_connector_has_no_owner() -> None:
    assert assign("a", [claim("a", ["gone", "c0"])], ["c0"], 0).owners == {"c0": "a"}


def test_a_static_member_that_came_back_twice_counts_once() -> None:
    found = assign("a", [claim("a", ["c0"], 3), Claim("a", "http://new", 4, ())], ["c0"], 0)
    assert found.workers == {"a": "http://new"}
    assert found.owners == {"c0": "a"}


def test_the_form_on_the_wire() -> None:
    found = assign("b", [claim("a", NAMES[:9]), claim("b", NAMES[9:])], NAMES, 42)
    assert Assignment.decode(found.encode()) == found
    mine = Claim("h:1", "http://h:1", 3, ("x", "y"), 9, 120)
    assert Claim.decode(mine.encode()) == mine


def test_claims_are_read_across_versions() -> None:
    before = zlib.compress(orjson.dumps([1, "h:1", "http://h:1", 3, ["x", "y"], 9]))
    assert Claim.decode(before) == Claim("h:1", "http://h:1", 3, ("x", "y"), 9, -1)
    # An earlier version decompresses and parses a claim in one step each.
    mine = Claim("h:1", "http://h:1", 3, ("x", "y"), 9, 120)
    assert orjson.loads(zlib.decompress(mine.encode())) == [1, "h:1", "http://h:1", 3, ["x", "y"], 9]


@pytest.mark.parametrize("data", [b"", b"junk", claim("a").encode()[:-3]])
def test_records_that_no_worker_wrote(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (of every kind)
        Claim.decode(data)
    with pytest.raises(ValueError):  # noqa: PT011
        Assignment.decode(data)


def test_a_thousand_connectors_fit_into_a_record() -> None:
    names = [f"inventory-{n}-postgres-connector" for n in range(1_000)]
    workers = [claim(f"host-{n}.example.org:8083") for n in range(10)]
    assert len(assign("host-0.example.org:8083", workers, names, 0).encode()) < 40_000


# Between generations


def test_created_connectors_go_where_there_is_least() -> None:
    owners = Owners(Assignment("a", {"a": "", "b": "", "c": ""}, 10, {"x": "a", "y": "b"}))
    for offset, name in enumerate(("n1", "n2", "n3"), 11):
        owners.change(offset, name, exists=True)
    assert [owners.owner(name) for name in ("n1", "n2", "n3")] == ["c", "a", "b"]
    owners.change(14, "x", exists=False)
    owners.change(15, "n4", exists=True)
    assert owners.owner("x") is None
    assert owners.owner("n4") == "a"


def test_a_connector_created_again_stays_where_it_was() -> None:
    owners = Owners(Assignment("a", {"a": "", "b": ""}, 10, {"x": "b", "y": "b", "z": "b"}))
    owners.change(11, "x", exists=False)
    owners.change(12, "x", exists=True)
    owners.change(13, "n", exists=True)
    assert (owners.owner("x"), owners.owner("n")) == ("b", "a")
    owners.change(14, "x", exists=False)
    assert owners.owner("x") is None


def test_changes_that_the_leader_knew_have_no_effect() -> None:
    owners = Owners(Assignment("a", {"a": "", "b": ""}, 10, {"x": "b"}))
    owners.change(9, "x", exists=False)
    owners.change(10, "y", exists=True)
    assert (owners.owner("x"), owners.owner("y")) == ("b", None)


def test_a_moving_connector_has_no_owner() -> None:
    owners = Owners(Assignment("a", {"a": "", "b": ""}, 10, {}, {"x": "b"}))
    owners.change(11, "x", exists=True)
    assert owners.owner("x") is None
    assert owners.leaving("x", "b")
    assert not owners.leaving("x", "a")


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.booleans()), max_size=20),
    st.randoms(use_true_random=False),
)
def test_all_workers_agree_for_any_order_of_messages(changes: list[tuple[str, bool]], order: object) -> None:
    base = Assignment("a", {"a": "", "b": "", "c": ""}, 0, {"c0": "a", "c1": "a"}, {"c2": "c"})
    numbered = list(enumerate(changes, 1))
    straight, shuffled = Owners(base), Owners(base)
    for offset, (name, exists) in numbered:
        straight.change(offset, name, exists=exists)
    order.shuffle(numbered)  # type: ignore[attr-defined]
    for offset, (name, exists) in [*numbered, *numbered]:
        shuffled.change(offset, name, exists=exists)
    assert {name: straight.owner(name) for name in NAMES} == {name: shuffled.owner(name) for name in NAMES}


@given(
    st.dictionaries(st.sampled_from("abcde"), st.tuples(st.sets(st.sampled_from(NAMES)), st.integers(0, 5)), min_size=1),
    st.lists(st.sampled_from(NAMES), unique=True),
)
def test_two_generations_bring_balance_and_never_two_owners(held: dict[str, tuple[set[str], int]], names: list[str]) -> None:
    claims = [Claim(worker, "", generation, tuple(owned)) for worker, (owned, generation) in held.items()]
    first = assign(min(held), claims, names, 0)
    assert set(first.owners) | set(first.moving) == set(names)
    assert not set(first.owners) & set(first.moving)
    for name, worker in first.owners.items():
        # Nobody is given what another has, unless that other was out of the group for longer.
        best = max((held[w][1] for w in held if name in held[w][0]), default=None)
        assert best is None or (name in held[worker][0] and held[worker][1] == best)
    owned = {worker: [name for name, owner in first.owners.items() if owner == worker] for worker in held}
    second = assign(min(held), [Claim(worker, "", 9, tuple(names_)) for worker, names_ in owned.items()], names, 0)
    assert second.moving == {}
    assert all(second.owners[name] == worker for name, worker in first.owners.items())
    numbers = [Counter(second.owners.values())[worker] for worker in held]
    assert max(numbers) - min(numbers) <= 1
