from __future__ import annotations

from collections.abc import Callable

import pytest

from connector.types.bits import bits


@pytest.mark.parametrize("convert", [bits(1).encode, bits(1).decode])
def test_a_single_bit_is_0_or_1(convert: Callable[[bytes], object]) -> None:
    assert [convert(text) for text in (b"0", b"1")] in ([b"false", b"true"], [False, True])
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        convert(b"")
