from __future__ import annotations

import pytest

from connector.meters.wal_track import Growth, WalTrack


def track(*looks: tuple[int, float]) -> WalTrack:
    found = WalTrack()
    for lsn, now in looks:
        found.add(lsn, now)
    return found


@pytest.mark.parametrize(
    ("lsn", "age"),
    [
        (400, 0.0),
        (300, 0.0),
        # Between two looks the server is taken to have written evenly.
        (250, 5.0),
        (200, 10.0),
        (150, 20.0),
        (100, 30.0),
        # It is older than the first look. Nobody knows by how much.
        (7, 30.0),
    ],
)
def test_the_age_of_a_position(lsn: int, age: float) -> None:
    assert track((100, 0.0), (200, 20.0), (300, 30.0)).age(lsn) == age


def test_a_server_that_stands_still_does_not_make_its_position_older() -> None:
    found = track((100, 0.0), *((200, 10.0 + look) for look in range(5)))
    assert (found.age(200), found.age(150)) == (0.0, 9.0)
    found.add(300, 20.0)
    # It was at 200 until the look at 14.
    assert found.age(200) == 6.0


def test_no_look_and_another_server() -> None:
    assert WalTrack().age(1) is None
    assert track((500, 0.0), (100, 10.0)).age(50) == 0.0


def test_many_looks_keep_the_first_and_the_last() -> None:
    found = track(*((10 * look, float(look)) for look in range(100_000)))
    assert len(found._lsns) <= 512
    assert (found.age(0), found.age(999_990)) == (99_999.0, 0.0)
    assert found.age(500_000) == pytest.approx(49_999, rel=0.001)


def test_growth() -> None:
    growth = Growth()
    assert growth.per_second is None
    growth.add(1_000, 0.0)
    growth.add(1_100, 4.0)
    assert growth.per_second is None
    growth.add(2_000, 10.0)
    assert growth.per_second == 100.0
    # Only the last five minutes count.
    growth.add(2_000, 310.0)
    assert growth.per_second == 0.0
    growth.add(500, 410.0)
    assert growth.per_second is not None
    assert growth.per_second < 0
