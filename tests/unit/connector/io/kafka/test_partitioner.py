"""Keys go where Kafka's Java producer puts them (recorded from DefaultPartitioner's hash, ``Utils.murmur2``)."""

from __future__ import annotations

from connector.io.kafka.partitioner import partition_of
from tests.support.each_case import each_case

# Kafka's own test vectors of Utils.murmur2.
HASHES = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@each_case(("key", "signed"), HASHES.items())
@each_case("count", [1, 3, 25])
def test_the_partition_of_a_key(key: bytes, signed: int, count: int) -> None:
    assert partition_of(key, count) == (signed & 0x7FFFFFFF) % count
