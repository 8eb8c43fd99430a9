"""Memories of a target file and what reading them costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from mote.hardware import targets
from mote.hardware.targets import Reads
from tests.hardware.targets.refused import M4, MEMORY, READS, error_of


def test_what_reading_costs(tmp_path: Path) -> None:
    """A core's `[reads]` holds for code and constants; a part's memories have their own, and RAM is none of them."""
    path = tmp_path / "board.toml"
    assert targets.load("cortex-m4").code_reads == Reads() and not Reads().waits
    path.write_text(f"{READS}wait_states = 5\nread_bytes = 8\nprefetch = true\ncode_lines = 32\ndata_lines = 8\n")
    core = targets.load(str(path))
    assert core.code_reads == core.constant_reads == Reads(5, 8, True, 8, 32, 8)
    assert core.constant_reads.miss == 5 and core.constant_reads.stream(17) == 3 * 5
    path.write_text(
        MEMORY.replace("[[", 'code_in = "r"\n[[', 1)
        + "wait_states = 1\nread_bytes = 4\n"
        + "[[memory]]\nname = 'f'\nkind = 'flash'\nsize = 9\nwait_states = 3\nread_bytes = 8\nline_bytes = 32\n"
        + "[[memory]]\nname = 'itcm'\nkind = 'ram'\nsize = 5\nholds = ['code']\n"
    )
    part = targets.load(str(path))
    assert part.code_memory is not None and part.code_memory.name == "r" and part.code_reads.miss == 1
    assert part.constant_reads.miss == 4 * 4 - 1 and part.constant_reads.stream(16) == 4 * 3  # every word waits
    assert [m.name for m in part.code_rams] == ["itcm", "r"] and part.ram == 1 and part.choice("ram") == ()
    path.write_text(path.read_text().replace("code_in", "constants_in"))
    assert targets.load(str(path)).constant_reads == Reads() and targets.load(str(path)).code_reads.miss == 15


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"{READS}waitstates = 5", "did you mean: wait_states?"),
        (f"{READS}wait_states = -1", "in [reads]: 'wait_states' must be a whole number from 0 to 10,000"),
        (f"{READS}source = 3", "in [reads]: 'source' must be a string"),
        (f"{READS}prefetch = 1", "'prefetch' must be true or false"),
        (f"{READS}read_bytes = 24", "'read_bytes' must be a power of two"),
        (f"{READS}read_bytes = 32\nline_bytes = 16", "a line of 16 bytes is less than one read of 32"),
        (f"{READS}code_lines = 8\ndata_lines = 8\nshared_lines = true", "'data_lines' beside 'shared_lines'"),
        (f"{READS}code_lines = 9\nways = 2", "9 'code_lines' are no multiple of 2 'ways'"),
        (f"{MEMORY}data_lines = 'x'", "memory 'r': 'data_lines' must be a whole number"),
        (f"{MEMORY}holds = ['weights']", "'holds' must be a list of code, data or both"),
        (f"{MEMORY}holds = []", "'holds' must be a list of code, data or both"),
        (f'code_in = "s"\n{MEMORY}', "'code_in' names 's', which is none of its memories"),
        (f'code_in = "r"\n{MEMORY}holds = ["data"]', "'code_in' names 'r', which cannot hold code"),
        (f"{MEMORY}origin = -1", "'origin' must be an address"),
        (f"{MEMORY}origin = 0x1_0000_0000_0000_0000", "'memory[0].origin' is an integer of more than 64 bits"),
        (MEMORY.replace("size = 1", "size = 0"), "'size' must be from 1 to"),
        (MEMORY.replace("size = 1", 'size = "9999999999G"'), "'size' must be from 1 to"),
        (MEMORY.replace('"r"', '"kept"'), "a memory cannot be called 'kept'"),
        (MEMORY.replace('"r"', '"a\\nb"'), "'name' must be a string that can be printed"),
        (f'{M4}[[memory]]\nname = "r"\nkind = "ram"', "'size' is missing"),
        (f'{M4}[[memory]]\nname = "r"\nkind = "rom"\nsize = 1', "'kind' must be flash or ram"),
        (f'{M4}[[memory]]\nname = "r"\nkind = "ram"\nsize = "big"', "not a size: 'big'"),
        (f'{M4}[[memory]]\nname = "r"\nkind = "ram"\nsize = 1\nspeed = 2', "unknown key 'speed'"),
        (f"{MEMORY}wait = -1", "'wait' must be a number of cycles"),
        (f"{MEMORY}section = 'a b'", "'section' must be the name of a linker section"),
        (f"{MEMORY}[[memory]]\nname = 'R'\nkind = 'flash'\nsize = 1", "two memories are called 'r'"),
    ],
)
def test_errors(tmp_path: Path, text: str, error: str) -> None:
    found = error_of(tmp_path, text)
    assert error in found and "bad.toml" in found
