"""`boards.toml`: named boards, how each is flashed, reset and metered, and pools of boards."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import mote.hardware.targets as targets
from mote.base.documents import read_toml
from mote.base.errors import MoteError
from mote.base.files import is_of_another_user
from mote.base.text import did_you_mean, printable
from mote.deploy.boards.address import FORMS, BoardAddress, is_address, parse_address
from mote.deploy.firmware.flash import FLASH_TOOLS
from mote.hardware.targets import Target
from mote.hardware.targets.values import cut

FILE = "boards.toml"
VARIABLE = "MOTE_BOARDS"
"""Environment variable with the path of the file."""
MOST_COPIES = 256
"""Maximum N in `N x ADDRESS` for emulated boards."""
_COPIES = re.compile(r"([0-9]{1,4})\s*x\s*(\S.*)")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
PLACES = ("{elf}", "{hex}", "{bin}", "{uf2}")
"""Placeholders for files in a flash command."""


@dataclass(frozen=True)
class Flasher:
    """How to write firmware to a board: by a tool known to `mote flash`, or by a command."""

    tool: str = ""
    port: str = ""
    """Serial number of a probe, serial port, or folder of a drive."""
    probe: str = ""
    """OpenOCD's name of the debug probe."""
    command: tuple[str, ...] = ()
    """A command with {elf}, {hex}, {bin} or {uf2} for the file to write."""


@dataclass(frozen=True)
class BoardEntry:
    """A board: an entry of `boards.toml`, or an ad-hoc address."""

    name: str
    address: BoardAddress
    target_name: str = ""
    """Target name, or path of a .toml file; empty if the agent knows."""
    flash: Flasher | None = None
    reset: tuple[str, ...] = ()
    """Command that resets the board if it does not respond."""
    log: str = ""
    """Log file to which `mote board log` appends the board's text."""
    meter: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Meter of the board's supply: the unparsed table `[boards.NAME.meter]`."""
    copy: int = 0
    """Index among several copies of an emulated board."""

    @property
    def label(self) -> str:
        """Name in messages and of the lock, different for each copy."""
        return f"{self.name}#{self.copy}" if self.copy else self.name

    @property
    def target(self) -> Target | None:
        """Target stated by the entry or an emulated address; None if the agent knows."""
        return targets.load(self.target_name) if self.target_name else self.address.target


@dataclass(frozen=True)
class BoardsFile:
    """Boards and pools of a file; empty if there is no file."""

    path: str = ""
    boards: Mapping[str, BoardEntry] = field(default_factory=dict)
    pools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def board(self, text: str) -> BoardEntry:
        """The single board that a name or address refers to."""
        several = self.resolve(text)
        if len(several) != 1:
            raise MoteError(
                f"names {len(several)} boards",
                where=f"board {printable(text)}",
                remedy="name one of them; a pool is for evaluations that run at once",
            )
        return several[0]

    def resolve(self, text: str) -> tuple[BoardEntry, ...]:
        """The boards that a text refers to: names, pools, addresses and `N x ADDRESS`, separated by commas."""
        entries = tuple(entry for word in text.split(",") for entry in self._word(word.strip()))
        numbers: dict[str, int] = {}
        for i, entry in enumerate(entries):
            numbers[entry.name] = numbers.get(entry.name, 0) + 1
            if numbers[entry.name] > 1 and not entry.address.is_emulated:
                raise MoteError("is named twice", where=f"board {entry.name}", remedy="a board does one thing at once")
            if sum(other.name == entry.name for other in entries) > 1:
                entries = (*entries[:i], replace(entry, copy=numbers[entry.name]), *entries[i + 1 :])
        return entries

    def _word(self, word: str) -> Iterator[BoardEntry]:
        copies = _COPIES.fullmatch(word)
        if copies:
            count = int(copies[1])
            entry = self.board(copies[2])
            if not 1 <= count <= MOST_COPIES or not entry.address.is_emulated:
                raise MoteError(
                    f"there are no {count} boards of this address",
                    where=f"board {printable(word)}",
                    remedy=f"1 to {MOST_COPIES} emulated ones can be had at once: 8 x qemu:cortex-m4",
                )
            yield from [entry] * count
        elif word in self.pools:
            for member in self.pools[word]:
                yield from self._word(member)
        elif word in self.boards:
            yield self.boards[word]
        elif is_address(word):
            yield BoardEntry(word, parse_address(word))
        else:
            raise self._unknown(word)

    def _unknown(self, word: str) -> MoteError:
        known = [*self.boards, *self.pools]
        where = f"in {self.path} there are: {', '.join(known)}" if self.path else f"there is no {FILE}"
        return MoteError(
            "is no name of a board, and no address",
            where=f"board {printable(word)}",
            remedy=f"{did_you_mean(word, known)}{where}; addresses are {FORMS}",
        )


def boards_file(path: str | Path | None = None) -> BoardsFile:
    """Loads the named file, else that of the environment variable MOTE_BOARDS, else `boards.toml` in this folder, else
    in `~/.config/mote`; no boards if none exists."""
    named = path or os.environ.get(VARIABLE)
    if named:
        return read_boards(Path(named))
    for place in (Path(FILE), Path.home() / ".config" / "mote" / FILE):
        if place.is_file():
            if is_of_another_user(place, Path.cwd()):
                raise _bad(
                    place, "belongs to another user, and names commands to run", f"if you trust it, set {VARIABLE}"
                )
            return read_boards(place)
    return BoardsFile()


def read_boards(path: Path) -> BoardsFile:
    """Reads and validates a boards file; no command in it runs before a board is used."""
    keys = read_toml(path)
    _known(path, "the file", keys, ("boards", "pools"))
    tables = {key: _table(path, key, keys.get(key, {})) for key in ("boards", "pools")}
    for name in (*tables["boards"], *tables["pools"]):
        if not _NAME.fullmatch(name) or is_address(name):
            raise _bad(path, f"{cut(name)} is no name", "use at most 64 letters, digits, '_', '-' and '.'")
    boards = {
        name: _entry(path, name, _table(path, f"boards.{name}", entry)) for name, entry in tables["boards"].items()
    }
    pools = {name: _members(path, name, value) for name, value in tables["pools"].items()}
    for name in pools:
        if name in boards:
            raise _bad(path, f"'{name}' is a board and a pool")
    made = BoardsFile(str(path), boards, pools)
    for name, members in pools.items():
        if any(member in pools for member in members):
            raise _bad(path, f"in [pools]: '{name}' has a pool in it", "list the boards themselves")
        made.resolve(name)
    return made


_Check = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and value.isprintable()


def _command(value: Any) -> bool:
    return _text(value) or (isinstance(value, list) and bool(value) and all(_text(word) for word in value))


def _scalars(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(v, str | int | float | bool) for v in value.values())


_BOARD: dict[str, tuple[_Check, str]] = {
    "address": (_text, f"one of {FORMS}"),
    "target": (_text, "the name of a target"),
    "flash": (lambda v: isinstance(v, dict), "a table"),
    "reset": (_command, "a command: a string, or a list of its words"),
    "log": (_text, "the name of a file"),
    "meter": (_scalars, "a table of strings and numbers"),
}
_FLASH: dict[str, tuple[_Check, str]] = {
    "tool": (lambda v: isinstance(v, str) and v in FLASH_TOOLS, f"one of {', '.join(FLASH_TOOLS)}"),
    "port": (_text, "a serial number, a port or a folder"),
    "probe": (_text, "OpenOCD's name of a probe"),
    "command": (_command, f"a command with one of {', '.join(PLACES)}"),
}


def _entry(path: Path, name: str, keys: dict[str, Any]) -> BoardEntry:
    where = f"boards.{name}"
    _checked(path, where, keys, _BOARD)
    if "address" not in keys:
        raise _bad(path, f"in [{where}]: 'address' is missing", f"write address = one of {FORMS}")
    try:
        address = parse_address(keys["address"])
        if "target" in keys:
            targets.load(keys["target"])
    except MoteError as error:
        raise _bad(path, f"in [{where}]: {error.where}: {error.reason}", error.remedy) from None
    flash = keys.get("flash")
    return BoardEntry(
        name,
        address,
        keys.get("target", ""),
        None if flash is None else _flasher(path, f"{where}.flash", flash),
        _words(path, where, keys.get("reset", [])),
        keys.get("log", ""),
        keys.get("meter", {}),
    )


def _flasher(path: Path, where: str, keys: dict[str, Any]) -> Flasher:
    _checked(path, where, keys, _FLASH)
    command = _words(path, where, keys.get("command", []))
    if command and "tool" in keys:
        raise _bad(path, f"in [{where}]: both 'tool' and 'command' are given", "give one of them")
    if command and not any(place in word for word in command for place in PLACES):
        raise _bad(path, f"in [{where}]: the command names no file", f"write one of {', '.join(PLACES)} where it goes")
    return Flasher(keys.get("tool", ""), keys.get("port", ""), keys.get("probe", ""), command)


def _words(path: Path, where: str, value: str | list[str]) -> tuple[str, ...]:
    """Splits a command into words; no shell is involved."""
    try:
        return tuple(shlex.split(value)) if isinstance(value, str) else tuple(value)
    except ValueError as error:
        raise _bad(path, f"in [{where}]: a command cannot be read ({error})") from None


def _members(path: Path, name: str, value: Any) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value
    if not (isinstance(words, list) and words and all(_text(word) for word in words)):
        raise _bad(
            path, f"in [pools]: '{printable(name)}' must be a list of boards", 'rack = ["desk", "8 x qemu:virt"]'
        )
    return tuple(words)


def _table(path: Path, name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _bad(path, f"'{printable(name)}' must be a table: [{printable(name)}]")
    return value


def _known(path: Path, where: str, keys: dict[str, Any], known: tuple[str, ...]) -> None:
    for key in keys:
        if key not in known:
            remedy = f"{did_you_mean(key, known)}there are: {', '.join(known)}"
            raise _bad(path, f"in {where}: unknown key {cut(key)}", remedy)


def _checked(path: Path, where: str, keys: dict[str, Any], known: dict[str, tuple[_Check, str]]) -> None:
    _known(path, f"[{where}]", keys, tuple(known))
    for key, value in keys.items():
        is_right, what = known[key]
        if not is_right(value):
            raise _bad(path, f"in [{where}]: '{key}' must be {what}, not {cut(value)}")


def _bad(path: Path, reason: str, remedy: str = "") -> MoteError:
    return MoteError(reason, where=str(path), remedy=remedy)
