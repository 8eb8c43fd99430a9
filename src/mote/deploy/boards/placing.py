"""Puts a compiled model on a board: it may be there already, be built into firmware of an emulated board, flashed, or
loaded into RAM."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import mote.hardware.targets as targets
from mote.base.errors import MoteError
from mote.base.system import subprocess
from mote.compiler.firmware import Firmware, ModelExtent
from mote.compiler.settings import Settings, chosen_settings
from mote.deploy.agent.firmware import AgentOptions
from mote.deploy.boards.address import LineKind
from mote.deploy.boards.agent.exchange import BoardPatience, LostBoardError, losing_board
from mote.deploy.boards.boards_file import BoardEntry, BoardsFile, boards_file
from mote.deploy.boards.emulated import EmulatedLine, ticks_per_instruction
from mote.deploy.boards.locks import owned
from mote.deploy.boards.protocol import AgentRegion, Identity, Request
from mote.deploy.boards.scratch import linked_for_scratch
from mote.deploy.boards.session import BoardSession
from mote.deploy.firmware.agent import AgentModel, linked_agent
from mote.deploy.firmware.flash import FlashJob, firmware_part, flash, flash_command
from mote.deploy.firmware.formats import binary, intel_hex, loaded, uf2
from mote.deploy.wire.links import Connecting, Line, Serial
from mote.hardware.targets import Target
from mote.hardware.targets.flags import SETS
from mote.hardware.targets.values import cut
from mote.hardware.toolchain import Mode
from mote.hardware.toolchain.compilers import Compiler, find_compiler

RESETTING_S = 60.0
WAITING_S = 1.0
"""Seconds to wait for a board that another process is about to release."""
FLASH_HELP = "state how it is flashed in boards.toml ([boards.NAME.flash]), or flash it with `mote board flash`"
SCRATCH_BYTES = 1 << 18
"""Scratch memory of an emulated board."""
_MOST_SAID = 400


@dataclass(frozen=True)
class BoardModel:
    """A model to put on boards: its C project, harness glue, and compiler options."""

    files: Mapping[str, str]
    sources: Sequence[str]
    target: Target
    optimize: str
    works: int
    """Number of steps that can be traced."""
    glue: str
    """Generator of the harness glue (`mote.compiler.emit.c.programs.glue`)."""
    flags: Sequence[str] = ()
    secret: str = field(default="", repr=False)
    image: bytes | None = None
    """The model packed as an image, for agents that load images."""
    extent: ModelExtent = field(default_factory=ModelExtent)
    """Numbers and bytes of outputs and steps that a board running it must report."""

    @property
    def agent(self) -> AgentModel:
        own = [flag for flag in self.flags if not flag.startswith("-I")]
        variant = " ".join([self.optimize, *own])
        return AgentModel(self.files, self.sources, self.glue, self.flags, self.secret, variant)

    @property
    def id(self) -> bytes:
        """Id that an agent with this model reports; includes compiler flags."""
        return self.agent.id

    @property
    def ids(self) -> tuple[bytes, ...]:
        """Accepted ids: this one, and that of agents built by a project's own build files, if their flags match."""
        return (self.id,) if self.optimize in SETS else (self.id, replace(self.agent, variant="").id)


def board_model(subject: Firmware) -> BoardModel:
    """A compiled model for boards; accelerators are real there, so their drivers must be among its files."""
    simulation = subject.simulation
    if simulation.files and not simulation.replaced:
        raise MoteError(
            "its accelerator is simulated here, and no driver for a board is known",
            where=f"generator {', '.join(map(repr, simulation.devices))}",
            remedy="use an emulator: omit --board",
        )
    return BoardModel(
        subject.files,
        subject.sources,
        subject.target,
        subject.optimize,
        subject.works,
        subject.glue(Mode.DUMP),
        subject.flags(Mode.DUMP),
        subject.secret,
        subject.image,
        subject.extent,
    )


@dataclass(frozen=True)
class OpenBoard:
    """A locked board with a session and, if requested, a model."""

    entry: BoardEntry
    session: BoardSession
    placed: str
    """How the model got there, as a phrase."""

    @property
    def identity(self) -> Identity:
        return self.session.identity

    @property
    def label(self) -> str:
        return self.entry.label


def entry_of(board: str | BoardEntry, boards: BoardsFile | str | None = None) -> BoardEntry:
    """The board of a name or address; `boards` is another boards.toml than the default."""
    if isinstance(board, BoardEntry):
        return board
    return (boards if isinstance(boards, BoardsFile) else boards_file(boards)).board(board)


def target_of(board: str | BoardEntry, boards: BoardsFile | str | None = None) -> Target:
    """Target of a board: as stated, else as reported by its agent."""
    entry = entry_of(board, boards)
    if (stated := entry.target) is not None:
        return stated
    with connected(entry) as session:
        name = session.identity.target
    if (known := _known_target(name)) is not None:
        return known
    raise MoteError(
        f"says that it is {cut(name)}, which is no target that is known here",
        where=f"board {entry.label}",
        remedy="name its target in boards.toml, or with --target",
    )


def board_settings(settings: Settings | None, options: Mapping[str, Any], board: str | None) -> Settings:
    """Settings of an API function that may name a board: for the board's target unless another is given."""
    if settings is None and board is not None and "target" not in options:
        options = {"target": board_target(board), **options}
    return chosen_settings(settings, options)


def board_target(board: str) -> Target:
    """Common target of the boards that a name refers to."""
    stated = {target.name: target for target in map(target_of, boards_file().resolve(board))}
    if len(stated) > 1:
        raise MoteError(
            f"has boards of several targets: {', '.join(stated)}",
            where=f"board {board}",
            remedy="name one with --target, and boards that are of it",
        )
    return next(iter(stated.values()))


@contextmanager
def opened(
    board: str | BoardEntry,
    model: BoardModel,
    *,
    folder: Path,
    compiler: Compiler | None = None,
    boards: BoardsFile | str | None = None,
    patience: BoardPatience | None = None,
    say: Callable[[str], None] = lambda text: None,
    wait_s: float = WAITING_S,
) -> Iterator[OpenBoard]:
    """Context manager: a locked board with a model on it. `folder` is for build files."""
    entry = entry_of(board, boards)
    with owned(entry, wait_s):
        if entry.address.is_emulated:
            with _emulated(entry, model, folder, compiler, patience, say) as there:
                yield there
        else:
            with _session(entry, patience, say) as session:
                session.extent = model.extent
                yield OpenBoard(entry, session, _place(entry, session, model, folder, compiler, say))


@contextmanager
def connected(
    board: str | BoardEntry,
    *,
    boards: BoardsFile | str | None = None,
    patience: BoardPatience | None = None,
    say: Callable[[str], None] = lambda text: None,
    wait_s: float = WAITING_S,
) -> Iterator[BoardSession]:
    """A session with a real board as it is."""
    entry = entry_of(board, boards)
    if entry.address.is_emulated:
        raise MoteError(
            "is emulated, and starts with a model only",
            where=f"board {entry.label}",
            remedy="name a model, as in `mote run MODEL --board " + str(entry.address) + "`",
        )
    with owned(entry, wait_s), _session(entry, patience, say) as session:
        yield session


def line_of(entry: BoardEntry) -> Line:
    """Transport to a real board, not opened yet."""
    address = entry.address
    if address.kind is LineKind.TCP:
        return Connecting(address.place, address.port)
    return Serial(address.place, address.baud)


def reset_board(entry: BoardEntry) -> None:
    """Resets a board by its entry's command."""
    _run(entry, entry.reset, "reset", RESETTING_S)


@contextmanager
def _session(entry: BoardEntry, patience: BoardPatience | None, say: Callable[[str], None]) -> Iterator[BoardSession]:
    line = line_of(entry)
    with losing_board():
        line.open()
    try:
        yield BoardSession(
            line, patience=patience, reset=(lambda: reset_board(entry)) if entry.reset else None, say=say
        )
    finally:
        line.close()


@contextmanager
def _emulated(
    entry: BoardEntry,
    model: BoardModel,
    folder: Path,
    compiler: Compiler | None,
    patience: BoardPatience | None,
    say: Callable[[str], None],
) -> Iterator[OpenBoard]:
    """Starts a board in QEMU with the model in its firmware."""
    _check_target(entry, entry.target, model)
    say("building firmware with the agent")
    elf = built(model, folder, compiler, emulated=True)
    line = EmulatedLine(elf, model.target)
    line.open()
    try:
        session = BoardSession(
            line,
            patience=patience,
            reset=line.restart,
            rest=line.rest,
            say=say,
            ticks_per_cycle=ticks_per_instruction(model.target),
        )
        session.extent = model.extent
        session.expect(model.id)
        yield OpenBoard(entry, session, f"built into the firmware of QEMU's {model.target.qemu_machine}")
    finally:
        line.close()


def built(model: BoardModel, folder: Path, compiler: Compiler | None = None, *, emulated: bool = False) -> Path:
    """Builds the ELF file of firmware with agent and model."""
    made = folder / ("emulated" if emulated else "firmware")
    made.mkdir(parents=True, exist_ok=True)
    options = AgentOptions(steps=max(1, model.works), scratch=SCRATCH_BYTES if emulated else 0)
    chosen = compiler or find_compiler(model.target)
    return linked_agent(
        model.agent, model.target, chosen, made, optimize=model.optimize, options=options, emulated=emulated
    ).elf


def _place(
    entry: BoardEntry,
    session: BoardSession,
    model: BoardModel,
    folder: Path,
    compiler: Compiler | None,
    say: Callable[[str], None],
) -> str:
    """Puts a model on a real board; returns how."""
    identity = session.identity
    if identity.model in model.ids:
        session.expect(identity.model)
        return "already there"
    _check_target(entry, entry.target or _known_target(identity.target), model)
    if entry.flash is not None:
        say("building firmware with the agent")
        how = write_firmware(entry, built(model, folder, compiler), model.target, say)
        session.reconnect()
        session.expect(model.id)
        return how
    if model.image is not None and identity.has_runtime and identity.can(Request.LOAD):
        session.load_image(model.image)
        return f"loaded as an image of {len(model.image):,} bytes"
    reason = "its agent takes no code (MOTE_AGENT_LOADS and scratch memory)"
    if identity.can(Request.CALL) and identity.can(Request.RUN):
        place = session.region(AgentRegion.SCRATCH)
        blob = linked_for_scratch(
            model.agent, model.target, compiler or find_compiler(model.target), folder, place, model.optimize
        )
        if blob.bytes_needed <= place.bytes:
            session.load_model(blob.data, blob.entry)
            return f"loaded to RAM at {place.address:#x}"
        reason = f"it takes {blob.bytes_needed:,} bytes of RAM, and the agent's scratch memory has {place.bytes:,}"
    has = f"the model {identity.model.hex()[:8]}" if identity.has_model else "no model"
    raise MoteError(
        f"has {has}, not this one, which cannot be loaded: {reason}", where=f"board {entry.label}", remedy=FLASH_HELP
    )


def _known_target(name: str) -> Target | None:
    """The target that a device names; must not be a path, since a device must not choose host files to read."""
    return targets.load(name) if name in targets.names() else None


def _check_target(entry: BoardEntry, target: Target | None, model: BoardModel) -> None:
    """Raises an error for a model compiled for another core than the board's."""
    if target is not None and (target.arch, target.cpu) != (model.target.arch, model.target.cpu):
        raise MoteError(
            f"has a {target.cpu} ({target.name}), and the model is compiled for {model.target.name}",
            where=f"board {entry.label}",
            remedy=f"use --target {target.name}",
        )


def write_firmware(entry: BoardEntry, elf: Path, target: Target, say: Callable[[str], None] = lambda text: None) -> str:
    """Writes firmware to a real board with its flash tool or command; returns how."""
    assert entry.flash is not None
    image = loaded(elf)
    folder = elf.parent / "flash"
    folder.mkdir(exist_ok=True)
    files = {"elf": elf}
    for kind, data in (("hex", intel_hex(image)), ("bin", binary(image))):
        files[kind] = folder / f"agent.{kind}"
        files[kind].write_bytes(data)
    if target.boot.uf2_family is not None and target.boot.uf2_origin is None:  # else a boot loader lies there
        files["uf2"] = folder / "agent.uf2"
        files["uf2"].write_bytes(uf2(image, target.boot.uf2_family))
    if entry.flash.command:
        words = tuple(_named(word, files, entry) for word in entry.flash.command)
        say(f"flashing: {shlex.join(words)}")
        _run(entry, words, "flash command", None)
        return f"flashed by {Path(words[0]).name}"
    part = firmware_part(target, image.parts[0].address)
    job = FlashJob(folder, files, part, port=entry.flash.port, probe=entry.flash.probe)
    tool, command = flash_command(job, entry.flash.tool)
    say(f"flashing: {shlex.join(command.arguments)}")
    with losing_board():
        flash(command)
    return f"flashed by {tool.name}"


def _named(word: str, files: Mapping[str, Path], entry: BoardEntry) -> str:
    for kind, path in files.items():
        word = word.replace(f"{{{kind}}}", str(path))
    if "{uf2}" in word:
        raise MoteError("cannot be flashed by a .uf2 file", where=f"board {entry.label}", remedy="flash {elf}")
    return word


def _run(entry: BoardEntry, words: Sequence[str], what: str, seconds: float | None) -> None:
    """Runs a command of a board's entry."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LostBoardError(f"its {what} takes more than {seconds:g} s", where=f"board {entry.label}") from None
    except OSError as error:
        raise LostBoardError(f"its {what} cannot be run ({error.strerror})", where=f"board {entry.label}") from None
    if done.returncode:
        said = " ".join(done.stdout.decode(errors="replace").split())[-_MOST_SAID:]
        raise LostBoardError(
            f"its {what} ended with status {done.returncode}: {said or 'it said nothing'}", where=f"board {entry.label}"
        )
