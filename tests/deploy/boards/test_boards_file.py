"""`boards.toml`: boards and pools by name; wrong files are refused with the key that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.deploy.boards.address import BoardAddress, LineKind
from mote.deploy.boards.boards_file import BoardsFile, Flasher, boards_file, read_boards

GOOD = """
[boards.desk]
address = "serial:/dev/ttyACM0@921600"
target = "stm32l4r5"
reset = ["pyocd", "reset"]
log = "desk.log"
[boards.desk.flash]
tool = "pyocd"
port = "0669FF"
[boards.desk.meter]
kind = "ppk2"
volts = 3.3
[boards.remote]
address = "tcp:lab:4000"
[boards.remote.flash]
command = "ssh lab 'flash now' {elf}"
[pools]
rack = ["desk", "2 x qemu:cortex-m4"]
small = "3 x qemu:virt"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "boards.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_boards_and_pools(tmp_path: Path) -> None:
    file = read_boards(written(tmp_path, GOOD))
    desk = file.board("desk")
    assert desk.address == BoardAddress(LineKind.SERIAL, "/dev/ttyACM0", baud=921600)
    assert desk.target is not None and desk.target.name == "stm32l4r5"
    assert desk.flash == Flasher("pyocd", "0669FF")
    assert (desk.reset, desk.log, desk.meter) == (("pyocd", "reset"), "desk.log", {"kind": "ppk2", "volts": 3.3})
    remote = file.board("remote").flash
    assert remote is not None and remote.command == ("ssh", "lab", "flash now", "{elf}")
    assert [b.label for b in file.resolve("rack")] == ["desk", "qemu:cortex-m4#1", "qemu:cortex-m4#2"]
    assert [b.label for b in file.resolve("small, remote")] == ["qemu:virt#1", "qemu:virt#2", "qemu:virt#3", "remote"]


def test_addresses_need_no_file() -> None:
    board = BoardsFile().board("qemu:cortex-m4")
    assert board.label == "qemu:cortex-m4"
    assert board.target is not None and board.target.name == "cortex-m4"
    assert BoardsFile().board("serial:/dev/ttyS9").target is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("dask", "is no name of a board"),
        ("rack", "names 3 boards"),
        ("desk, desk", "is named twice"),
        ("3 x desk", "there are no 3 boards"),
        ("0 x qemu:virt", "there are no 0 boards"),
        ("", "is no name of a board"),
    ],
)
def test_other_names_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(MoteError, match=reason) as error:
        read_boards(written(tmp_path, GOOD)).board(text)
    assert error.value.remedy


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("boards = 3", "'boards' must be a table"),
        ("[boards.a]", "'address' is missing"),
        ("[boards.a]\naddress = 'qemu:nothing'", "is no target, and no machine"),
        ("[boards.a]\naddress = 'qemu:virt'\ntarget = 'nothing'", "unknown target"),
        ("[boards.a]\naddress = 'qemu:virt'\nbaud = 3", "unknown key 'baud'"),
        ("[boards.a]\naddress = 'qemu:virt'\nreset = []", "'reset' must be a command"),
        ("[boards.a]\naddress = 'qemu:virt'\nreset = \"a 'b\"", "cannot be read"),
        ("[boards.a]\naddress = 'qemu:virt'\nflash = {tool = 'hammer'}", "'tool' must be one of"),
        ("[boards.a]\naddress = 'qemu:virt'\nflash = {command = 'write it'}", "names no file"),
        ("[boards.a]\naddress = 'qemu:virt'\nflash = {command = 'w {elf}', tool = 'pyocd'}", "both"),
        ("[boards.a]\naddress = 'qemu:virt'\nmeter = {at = [1]}", "'meter' must be"),
        ("[boards.'a b']\naddress = 'qemu:virt'", "is no name"),
        ("[boards.a]\naddress = 'qemu:virt'\n[pools]\na = ['a']", "is a board and a pool"),
        ("[pools]\na = ['b']", "is no name of a board"),
        ("[pools]\na = ['qemu:virt']\nb = ['a']", "has a pool in it"),
        ("[pools]\na = []", "must be a list of boards"),
        ("[poles]", "unknown key 'poles'"),
        ("= 3", "not valid TOML"),
        (f"boards.a.flash.tool = {'9' * 5000}", "line 1 has an integer of 5,000 digits"),
        (
            "[boards.a]\naddress = 'qemu:virt'\nmeter = {at = 0x1_0000_0000_0000_0000}",
            "'boards.a.meter.at' is an integer",
        ),
        (f"a = {'[' * 9999}", "nested too deeply"),
        (f"a = {'[' * 70}{']' * 70}", "is nested more than 64 tables and lists deep"),
        (f"# {'x' * (1 << 20)}", "has more than 1,048,576 bytes"),
        ("[boards.a]\naddress = 'qemu:virt'\nflash = {tool = []}", "'tool' must be one of"),
        ("[boards.a]\naddress = 'qemu:virt'\nflash = {tool = {}}", "'tool' must be one of"),
        ("\xff", "not valid TOML"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "boards.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(MoteError, match=reason):
        read_boards(path)


def test_the_file_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MOTE_BOARDS", raising=False)
    assert boards_file() == BoardsFile()
    (tmp_path / "home" / ".config" / "mote").mkdir(parents=True)
    written(tmp_path / "home" / ".config" / "mote", "[boards.home]\naddress = 'qemu:virt'")
    assert [*boards_file().boards] == ["home"]
    written(tmp_path, "[boards.here]\naddress = 'qemu:virt'")
    assert [*boards_file().boards] == ["here"]
    with monkeypatch.context() as patch, pytest.raises(MoteError, match="belongs to another user"):
        patch.setattr(
            "mote.deploy.boards.boards_file.is_of_another_user", lambda path, here: path.name == "boards.toml"
        )
        boards_file()
    other = tmp_path / "other.toml"
    other.write_text("[boards.other]\naddress = 'qemu:virt'", encoding="utf-8")
    monkeypatch.setenv("MOTE_BOARDS", str(other))
    assert [*boards_file().boards] == ["other"]
    with pytest.raises(MoteError, match="cannot read the file"):
        boards_file(tmp_path / "none.toml")
