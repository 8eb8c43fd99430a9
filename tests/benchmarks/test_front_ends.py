"""Front ends beside other libraries: the tables of docs/improve/features.md, and the library of the user's own copy."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

import front_ends
from tests.helpers.support import emulated


def test_a_frame_costs_what_the_docs_say() -> None:
    row = re.search(
        r"^\| `micro-frontend` \| ([\d,]+) \| 1\.0 \| ([\d,]+) \|$", front_ends.PAGE.read_text(), re.MULTILINE
    )
    assert row is not None
    cost = front_ends.ours("it", "micro-frontend", front_ends.HOP, emulated("cortex-m4"))
    assert cost.instructions <= int(row[1].replace(",", "")) * 1.01
    assert cost.ram <= int(row[2].replace(",", ""))


def test_the_library_on_a_core() -> None:
    folder = os.environ.get("MICROFRONTEND_PATH")
    if not folder:
        pytest.skip("MICROFRONTEND_PATH names no copy of the library's sources")
    core = emulated("cortex-m4")
    mine = front_ends.ours("it", "micro-frontend", front_ends.HOP, core)
    theirs = front_ends.microfrontend(Path(folder)).measured(core)
    np.testing.assert_array_equal(theirs.results, mine.results)
    assert mine.instructions < theirs.instructions / 2
