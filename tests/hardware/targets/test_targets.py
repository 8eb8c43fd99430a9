"""Target files of a user's own: what they inherit, and every error in one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.hardware import targets
from tests.hardware.targets.refused import M4, error_of


@pytest.mark.parametrize("name", ["cortex-m99", "rp2041", "stm32", "no-such-board", "x" * 1000])
def test_an_unknown_target_names_a_few(name: str) -> None:
    """Three at most, so that the message stays short with any number of parts."""
    with pytest.raises(MoteError, match="unknown target") as error:
        targets.load(name)
    words = set(re.findall(r"[\w-]+", error.value.remedy))
    assert len(words & set(targets.names())) <= 3 and "`mote targets` lists all" in error.value.remedy
    assert len(str(error.value)) < 300


def test_sizes_that_the_user_gives_take_the_place_of_the_memories() -> None:
    part = targets.limited(targets.load("esp32p4"), {"sram": 0, "psram": 1 << 20})
    assert [m.size for m in part.choice("ram")] == [0, 1 << 20] and part.ram == 1 << 20


@pytest.mark.parametrize(
    ("name", "sizes", "error"),
    [
        ("esp32p4", {"srm": 1}, "no RAM called 'srm'\n.*did you mean: sram"),
        ("esp32p4", {"flash": 1}, "no RAM called 'flash'"),
        ("cortex-m4", {"sram": 1}, "names no RAM"),
        ("esp32s3", {"sram": 1 << 20}, "sram has 425,984 bytes, fewer than 1,048,576"),
        ("esp32s3", {"sram": 0, "psram": 0}, "no RAM is left"),
    ],
)
def test_errors_in_sizes_of_memories(name: str, sizes: dict[str, int], error: str) -> None:
    with pytest.raises(MoteError, match=error):
        targets.limited(targets.load(name), sizes)


def test_a_users_own_part(tmp_path: Path) -> None:
    path = tmp_path / "board.toml"
    path.write_text(
        'extends = "cortex-m4"\nclock_hz = 48_000_000\n'
        '[[memory]]\nname = "f"\nkind = "flash"\nsize = 65536\norigin = 0\n'
        '[[memory]]\nname = "r"\nkind = "ram"\nsize = "20K"\n'
    )
    board = targets.load(str(path))
    assert (board.name, board.cpu, board.flash, board.ram) == ("board", "cortex-m4", 65536, 20480)
    assert board.memories[0].origin == 0 and board.memories[1].origin is None
    (tmp_path / "variant.toml").write_text('extends = "board.toml"\nname = "my-variant"\n')
    variant = targets.load(str(tmp_path / "variant.toml"))
    assert (variant.name, variant.ram) == ("my-variant", 20480)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("arch = ", "not valid TOML"),
        (f"{M4}ram = 3", "unknown key 'ram'"),
        (f"{M4}cpu = 3", "'cpu' must be a string"),
        (f'{M4}gcc_flags = "-O2"', "'gcc_flags' must be a list of strings"),
        (f'{M4}clock_hz = "1 MHz"', "'clock_hz' must be a whole number from 1 to"),
        (f"{M4}clock_hz = 1_000_000_000_000", "'clock_hz' must be a whole number from 1 to"),
        (f"{M4}clock_hz = {'9' * 5000}", "line 2 has an integer of 5,000 digits"),
        (f"{M4}features = {'[' * 9999}", "nested too deeply"),
        (f"# {'x' * 70_000}", "has more than 65,536 bytes"),
        (f"{M4}volts = nan", "'volts' must be a positive number of at most 1,000, not nan"),
        (f"{M4}ua_per_mhz = inf", "'ua_per_mhz' must be a positive number"),
        (f"{M4}flash_line = 8", "unknown key 'flash_line'"),
        (f"{M4}reads = 3", "'reads' must be a table: [reads]"),
        (f"{M4}peak_macs = 0", "'peak_macs' must be a whole number from 1"),
        (f'{M4}name = "a\\u001b[31m"', "'name' must be a string that can be printed"),
        (f'{M4}descripton = "x"', "did you mean: description?"),
        (f'{M4}features = ["fpuu"]', "did you mean: fpu?"),
        (f'{M4}features = ["sse"]', "unknown feature 'sse'"),
        ('arch = "avr32"\ncpu = "x"', "unknown arch 'avr32'"),
        ('arch = "arm"', "'cpu' is missing"),
        ('arch = "arm"\ncpu = "x"', "'costs' is missing"),
        (f"{M4}memory = 3", "'memory' must be a list of tables"),
        ('extends = "cortex-m99"', "unknown target 'cortex-m99'"),
        ('extends = "bad.toml"', "in a circle"),
        (f'extends = "{"../" * 9999}x.toml"', "no such target file"),
        (f'extends = "{"x" * 60_000}"', "unknown target 'xxx"),
    ],
)
def test_errors(tmp_path: Path, text: str, error: str) -> None:
    found = error_of(tmp_path, text)
    assert error in found and ("bad.toml" in found or "cortex-m99" in found)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(MoteError) as error:
        targets.load("cortex-m5")
    assert error.value.remedy.startswith("did you mean: cortex-m") and "cortex-m55" in error.value.remedy
    with pytest.raises(MoteError, match="no such target file"):
        targets.load("missing.toml")


def test_a_chain_of_targets_has_an_end(tmp_path: Path) -> None:
    for n in range(1200):
        (tmp_path / f"t{n}.toml").write_text(f'extends = "t{n + 1}.toml"\n')
    (tmp_path / "t1200.toml").write_text('extends = "cortex-m4"\n')
    with pytest.raises(MoteError, match="extends more than 16 others in a row"):
        targets.load(str(tmp_path / "t0.toml"))
    assert targets.load(str(tmp_path / "t1190.toml")).cpu == "cortex-m4"
    (tmp_path / "around.toml").write_text(f'extends = "../{tmp_path.name}/around.toml"\n')
    assert len(targets.sources(str(tmp_path / "around.toml"))) < 100
