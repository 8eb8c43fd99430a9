"""`mote.board`: lists reachable boards, queries and flashes them, and reads their text output."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import mote.compiler.line as line
from mote.base.errors import MoteError, explaining
from mote.base.extras import installed, require
from mote.base.files import temporary_folder
from mote.base.notebook import card
from mote.base.progress import Say, silent
from mote.base.results import ItemTable, Result
from mote.base.text import printable
from mote.compiler.firmware import firmware
from mote.compiler.settings import Settings, make_settings
from mote.deploy.boards.address import MACHINES, BoardAddress, LineKind, parse_address
from mote.deploy.boards.boards_file import BoardEntry, BoardsFile, Flasher, boards_file
from mote.deploy.boards.locks import BusyError, owned
from mote.deploy.boards.placing import (
    FLASH_HELP,
    OpenBoard,
    board_model,
    connected,
    line_of,
    opened,
    target_of,
    write_firmware,
)
from mote.deploy.boards.placing import built as built_firmware
from mote.deploy.boards.protocol import AgentRegion, Identity
from mote.deploy.boards.session import BoardSession
from mote.deploy.boards.text import TextReader
from mote.hardware.targets import Target
from mote.hardware.toolchain.emulators import find_emulator

ACTIONS = ("list", "info", "flash", "log")
LOOKING_S = 0.2
KEPT = 1 << 20
"""Maximum bytes of text that `mote.board("log")` returns, the last ones."""


@dataclass(frozen=True)
class KnownBoard:
    """A board that can be used."""

    name: str
    """Its name in boards.toml, or its address."""
    address: str
    """Its address."""
    target: str | None
    """Stated target; None if only the agent knows."""
    origin: str
    """Origin: `boards.toml`, `port` (a serial port) or `emulated`."""
    state: str
    """State: `free`, `in use by process N`, `not connected`, or why it cannot be emulated."""
    note: str = ""
    """Description of the serial port."""


@dataclass(frozen=True)
class BoardList(Result):
    """Boards that can be used on this host."""

    TITLE = "Boards"
    ROWS = ItemTable("boards", "name, address, target, from=origin, state", left=5)

    boards: tuple[KnownBoard, ...]
    """Boards of boards.toml, other serial ports, and emulated boards."""
    file: str
    """The boards.toml in use; empty if there is none."""
    pools: dict[str, tuple[str, ...]]
    """Pools of boards.toml: board names by pool name."""

    def __repr__(self) -> str:
        return f"<BoardList of {len(self.boards)} boards{f' from {self.file}' if self.file else ''}>"

    def _facts(self) -> dict[str, object]:
        return {"file": self.file or "none", "boards": len(self.boards)}


@dataclass(frozen=True)
class BoardInfo:
    """Information from a board's agent."""

    name: str
    """Its name in boards.toml, or its address."""
    address: str
    """Its address."""
    identity: Identity
    """Core, clock, counter, model and capabilities reported by the agent."""
    memories: tuple[tuple[int, int], ...]
    """(address, bytes) of each memory of the part."""
    inputs: tuple[int, ...]
    """Bytes of each input of the model."""
    outputs: tuple[int, ...]
    """Bytes of each output of the model."""
    scratch: int
    """Bytes of scratch RAM for code under tuning."""
    image: int
    """Bytes of RAM for loaded images."""
    placed: str = ""
    """How this call put the model on the board; empty if none was given."""

    def __repr__(self) -> str:
        return f"<BoardInfo of {self.name}: {self.identity.target}, model {self.identity.model.hex()[:8]}>"

    def _repr_html_(self) -> str:
        shown = self.json()
        return card(f"Board {self.name}", {k: v for k, v in shown.items() if not isinstance(v, list)})

    def json(self) -> dict[str, Any]:
        """All fields as JSON types, including those of the identity."""
        own = {key: value for key, value in asdict(self).items() if key != "identity"}
        counts = {"input_bytes": list(own.pop("inputs")), "output_bytes": list(own.pop("outputs"))}
        memories = [{"address": address, "bytes": size} for address, size in own.pop("memories")]
        return self.identity.json() | own | counts | {"memories": memories}


@dataclass(frozen=True, repr=False)
class BoardFlashed(Result):
    """Result of flashing a board with agent and model."""

    LINE = "{info.name}: {how}"
    TITLE = "Board {info.name}"
    FACTS = "firmware=how, model=info.identity.model:hex"

    info: BoardInfo
    """Information from the agent after flashing."""
    how: str
    """Flash tool that wrote it, or emulated board that it was built for."""

    def json(self) -> dict[str, Any]:
        """All fields as JSON types."""
        return {"how": self.how, **self.info.json()}


@explaining()
def board(
    action: str = "list",
    board: str = "",
    model: Any = None,
    *,
    target: str = "",
    optimize: str = "balanced",
    boards: str | Path | None = None,
    tool: str = "",
    port: str = "",
    probe: str = "",
    seconds: float | None = None,
    say: Say = silent,
    show: Callable[[str], None] = lambda text: None,
) -> BoardList | BoardInfo | BoardFlashed | str:
    """Work with boards that run an agent.

    `action` is `list` (boards of boards.toml, serial ports, emulated boards), `info` (query a board's agent), `flash`
    (write firmware with agent and model by the user's tool) or `log` (text that a board sends, for `seconds` or until
    interrupted; `show` receives it as it comes). `board` is a name in boards.toml or an address. `model` is compiled
    for the board's target, or for `target`; an emulated board requires one. `boards` is another boards.toml than the
    default; `tool`, `port` and `probe` are those of `flash`."""
    file = boards_file(boards)
    if action == "list":
        return _listed(file)
    if action not in ACTIONS:
        raise MoteError(f"'{action}' is not known", where="option action", remedy=f"use one of: {', '.join(ACTIONS)}")
    if not board:
        raise MoteError("no board is named", where=f"mote board {action}", remedy="`mote board list` lists boards")
    entry = file.board(board)
    if action == "log":
        return _logged(entry, seconds, show)
    settings = None if model is None else make_settings(target or target_of(entry), optimize=optimize)
    if action == "flash":
        if settings is None:
            raise MoteError("no model is named", where="mote board flash", remedy="mote board flash BOARD MODEL")
        return _flashed(_with_tool(entry, tool, port, probe), model, settings, say)
    if settings is None:
        with connected(entry, say=say) as session:
            return _info(entry, session)
    with temporary_folder() as folder, _opened(entry, model, settings, folder, say) as there:
        return _info(entry, there.session, there.placed)


def _opened(
    entry: BoardEntry, model: Any, settings: Settings, folder: Path, say: Say
) -> AbstractContextManager[OpenBoard]:
    say("compiling")
    made = board_model(firmware(line.compile(model, settings)))
    return opened(entry, made, folder=folder, say=say)


def _flashed(entry: BoardEntry, model: Any, settings: Settings, say: Say) -> BoardFlashed:
    with temporary_folder() as folder:
        if entry.address.is_emulated:
            with _opened(entry, model, settings, folder, say) as there:
                return BoardFlashed(_info(entry, there.session), there.placed)
        if entry.flash is None:
            raise MoteError(
                "nothing says how it is flashed", where=f"board {entry.label}", remedy=f"give --tool, or {FLASH_HELP}"
            )
        say("compiling")
        made = board_model(firmware(line.compile(model, settings)))
        with owned(entry, 1.0):
            elf = built_firmware(made, folder)
            how = write_firmware(entry, elf, made.target, say)
            with connected(entry, say=say) as session:
                session.expect(made.id)
                return BoardFlashed(_info(entry, session), how)


def _with_tool(entry: BoardEntry, tool: str, port: str, probe: str) -> BoardEntry:
    """The board with the requested flash tool."""
    if not (tool or port or probe):
        return entry
    stated = entry.flash or Flasher()
    command = () if tool else stated.command
    return replace(entry, flash=Flasher(tool or stated.tool, port or stated.port, probe or stated.probe, command))


def _info(entry: BoardEntry, session: BoardSession, placed: str = "") -> BoardInfo:
    def read() -> BoardInfo:
        identity = session.identity
        places = [session.region(AgentRegion.MEMORY, i) for i in range(identity.memories)]
        return BoardInfo(
            entry.label,
            str(entry.address),
            identity,
            tuple((place.address, place.bytes) for place in places),
            tuple(session.region(AgentRegion.INPUT, i).bytes for i in range(identity.inputs)),
            tuple(session.region(AgentRegion.OUTPUT, i).bytes for i in range(identity.outputs)),
            session.room(AgentRegion.SCRATCH),
            session.room(AgentRegion.IMAGE),
            placed,
        )

    return session.together(read)


def _logged(entry: BoardEntry, seconds: float | None, show: Callable[[str], None]) -> str:
    """Text of a real board; also appended to the log file named in boards.toml."""
    if entry.address.is_emulated:
        raise MoteError(
            "is emulated, and starts with a model only", where=f"board {entry.label}", remedy="name another"
        )
    reader, kept = TextReader(), ""
    until = None if seconds is None else time.monotonic() + seconds
    with owned(entry, 1.0), ExitStack() as files:
        connection = line_of(entry)
        connection.open()
        files.callback(connection.close)
        sink = files.enter_context(Path(entry.log).open("a", encoding="utf-8")) if entry.log else None
        while until is None or time.monotonic() < until:
            text = reader.take(connection.receive(LOOKING_S))
            if text:
                show(text)
                kept = (kept + text)[-KEPT:]
                if sink is not None:
                    sink.write(text)
                    sink.flush()
    return kept


def _listed(file: BoardsFile) -> BoardList:
    named = [_known(entry, "boards.toml") for entry in file.boards.values()]
    taken = {entry.address.place for entry in file.boards.values() if entry.address.kind is LineKind.SERIAL}
    ports = [
        replace(_known(BoardEntry(f"serial:{name}", BoardAddress(LineKind.SERIAL, name)), "port"), note=note)
        for name, note in serial_ports()
        if name not in taken
    ]
    emulated = [_known(BoardEntry(text, parse_address(text)), "emulated") for text in _emulated()]
    return BoardList((*named, *ports, *emulated), file.path, dict(file.pools))


def serial_ports() -> list[tuple[str, str]]:
    """Names and descriptions of serial ports with a device; none without pyserial."""
    if not installed("serial"):
        return []
    ports = require("serial.tools.list_ports", extra="boards").comports()
    return sorted((str(port.device), printable(str(port.description))) for port in ports if port.hwid != "n/a")


def _emulated() -> Iterator[str]:
    yield from (f"qemu:{core}" for core in MACHINES.values())


def _known(entry: BoardEntry, origin: str) -> KnownBoard:
    target = entry.target
    return KnownBoard(entry.name, str(entry.address), target.name if target else None, origin, _state(entry, target))


def _state(entry: BoardEntry, target: Target | None) -> str:
    if entry.address.is_emulated:
        assert target is not None
        try:
            find_emulator(target, "qemu")
        except MoteError as error:
            return f"not installed: {error.remedy}"
        return "free"
    if entry.address.kind is LineKind.SERIAL and not Path(entry.address.place).exists():
        return "not connected"
    try:
        with owned(entry):
            return "free"
    except BusyError as error:
        return error.reason.removeprefix("is ")
