"""Builds a compiled model with the test harness and runs it on an emulator or a board."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mote.base.deferred import deferred
from mote.base.errors import MoteError
from mote.base.files import temporary_folder
from mote.compiler.compiled import Compiled
from mote.compiler.firmware import Firmware, firmware, linked
from mote.hardware import toolchain
from mote.hardware.targets import Target
from mote.hardware.toolchain import Compiler, Emulator, Execution, Mode
from mote.hardware.toolchain.builder import board_of, has_board
from mote.hardware.toolchain.elf import FlashPart, flash_parts
from mote.hardware.toolchain.emulators import check_devices

if TYPE_CHECKING:
    from mote.deploy.boards import execution, placing
    from mote.deploy.boards import facts as board_facts
    from mote.deploy.boards.boards_file import BoardEntry
else:
    execution = deferred("mote.deploy.boards.execution")
    board_facts = deferred("mote.deploy.boards.facts")
    placing = deferred("mote.deploy.boards.placing")


@dataclass(frozen=True)
class Bench:
    """A model in a build folder, with the tools to build and run it."""

    firmware: Firmware
    compiler: Compiler | None
    """The C compiler; None if a board runs a model for whose target none is installed."""
    emulator: Emulator
    folder: Path
    sanitize: bool = False
    board: placing.OpenBoard | None = None
    """Board used instead of an emulator."""
    _leaving: ExitStack = field(default_factory=ExitStack, compare=False, repr=False)
    _built: dict[Mode, Path] = field(default_factory=dict, compare=False, repr=False)

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *raised: object) -> None:
        """Releases the board."""
        self._leaving.close()

    @property
    def target(self) -> Target:
        return self.firmware.target

    @property
    def tools(self) -> tuple[str, str]:
        """Names and versions of the emulator (or board) and the compiler."""
        emulator, compiler = (
            "" if tool is None else f"{tool.kind} {tool.version}".strip() for tool in (self.emulator, self.compiler)
        )
        return emulator, compiler

    @property
    def facts(self) -> board_facts.BoardFacts | None:
        """Facts about the board and its counter; None for an emulator."""
        return None if self.board is None else board_facts.facts_of(self.board)

    @property
    def counts(self) -> str:
        """Unit that is counted: instructions or cycles."""
        if self.facts is not None:
            return self.facts.unit
        return board_facts.INSTRUCTIONS if self.target.is_host else board_of(self.target).counts

    @property
    def links(self) -> bool:
        """Whether the harness can be built here; a board may run models without a local compiler or emulator."""
        return self.compiler is not None and (self.target.is_host or has_board(self.target))

    def elf(self, mode: Mode) -> Path:
        """The linked file of the harness."""
        if mode not in self._built:
            compiler = self.compiler or toolchain.find_compiler(self.target)
            self._built[mode] = linked(self.firmware, compiler, self.folder, mode, sanitize=self.sanitize)
        return self._built[mode]

    def execute(
        self, mode: Mode, inputs: list[list[bytes]], done: Callable[[int], None] = lambda count: None
    ) -> Execution:
        """Runs inferences consecutively from initial states; `done` is called after each on a board."""
        if self.board is not None:
            return execution.board_execution(
                self.board.session, mode, inputs, stateful=self.firmware.stateful, done=done
            )
        elf = self.elf(mode)
        return toolchain.execute(
            elf,
            self.target,
            self.emulator,
            inputs,
            workdir=self.folder / mode,
            mode=mode,
            devices=self.firmware.simulation.devices,
        )


def bench(
    model: Compiled | Firmware,
    folder: Path,
    *,
    compiler: str | None = None,
    emulator: str | None = None,
    board: str | BoardEntry | None = None,
    sanitize: bool = False,
) -> Bench:
    """Finds tools (`compiler`: gcc, zig; `emulator`: qemu, unicorn) for a model, or flashes it to a board, which is
    released at the end of a `with` block."""
    subject = firmware(model) if isinstance(model, Compiled) else model
    if subject.not_run:
        raise MoteError(
            f"layer {', '.join(subject.not_run)} is not run here: only its generator says what it computes",
            remedy="`mote verify` compares that; omit --backend to run all layers on the core",
        )
    target = subject.target
    if board is not None:
        return _on_board(subject, folder, compiler, emulator, board)
    tool = toolchain.find_emulator(target, emulator)
    check_devices(subject.simulation.devices, tool)
    on_board = replace(subject, target=toolchain.as_run(target, tool))
    return Bench(on_board, toolchain.find_compiler(target, compiler), tool, folder, sanitize)


def check_tools(target: Target, compiler: str | None, emulator: str | None, board: object = None) -> None:
    """Raises an error for tools that are not installed, before a model is compiled."""
    if board is None:
        toolchain.find_emulator(target, emulator)
        toolchain.find_compiler(target, compiler)


def _on_board(
    subject: Firmware, folder: Path, compiler: str | None, emulator: str | None, board: str | BoardEntry
) -> Bench:
    if emulator is not None:
        raise MoteError(
            "a board runs the model itself", where=f"option emulator {emulator}", remedy="give --board or --emulator"
        )
    tool = _found_compiler(subject.target, compiler)
    leaving = ExitStack()
    there = leaving.enter_context(
        placing.opened(board, placing.board_model(subject), folder=folder / "board", compiler=tool)
    )
    return Bench(subject, tool, Emulator("board", (), there.label), folder, board=there, _leaving=leaving)


def _found_compiler(target: Target, prefer: str | None) -> Compiler | None:
    """The compiler for a board's model; None if none is installed or requested, since a board that already has the
    model needs none."""
    try:
        return toolchain.find_compiler(target, prefer)
    except MoteError:
        if prefer is not None:
            raise
        return None


def missing_tools(
    target: Target, compiler: str | None = None, emulator: str | None = None, what: str = "instructions"
) -> MoteError | None:
    """Error why nothing can be measured on a target; None if it can."""
    if target.is_host:
        return MoteError(f"{what} are not counted on the host", remedy="name a core with --target")
    try:
        toolchain.find_compiler(target, compiler)
        toolchain.find_emulator(target, emulator)
    except MoteError as error:
        return error
    return None


def linked_flash(compiled: Compiled) -> list[FlashPart]:
    """Flash use of the linked firmware by symbols, without the harness."""
    with temporary_folder() as folder:
        on = bench(compiled, folder)
        return flash_parts(on.elf(Mode.MEASURE), on.target)
