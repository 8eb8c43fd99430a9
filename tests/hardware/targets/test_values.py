"""Sizes in target files and options, such as 24K."""

from __future__ import annotations

import pytest

from mote.base.errors import MoteError
from mote.hardware import targets


@pytest.mark.parametrize(("text", "size"), [("24K", 24576), ("1M", 1 << 20), ("512", 512), (7, 7), ("640 KB", 655360)])
def test_sizes(text: str | int, size: int) -> None:
    assert targets.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "K", "1.5M", "-1", -1, True, "12Q", "9" * 5000, "\u0663K"])
def test_not_sizes(text: str | int) -> None:
    with pytest.raises(MoteError, match="not a size"):
        targets.parse_size(text)
