"""Measurers count the cycles of each layer of a compiled model for tuning."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median_low
from typing import Protocol

from mote.base.errors import MoteError
from mote.base.files import temporary_folder
from mote.bench.measure.profiler import steps
from mote.bench.measure.profiler.costs import check_cycles
from mote.bench.measure.run import stimulus
from mote.bench.measure.runner import bench, missing_tools
from mote.compiler.compiled import Compiled
from mote.deploy.boards.boards_file import BoardEntry
from mote.deploy.boards.facts import counter_of
from mote.deploy.boards.placing import target_of
from mote.deploy.boards.pool import BoardPool
from mote.hardware.targets import Target
from mote.hardware.toolchain import Mode, find_compiler, find_emulator

RUNS = 3
"""Inferences per measurement on a board; the median counts, since interrupts may disturb one."""


class Measurer(Protocol):
    """Runs a compiled model and counts cycles. Measurers are pickled for worker processes."""

    def tools(self, target: Target) -> str:
        """Compiler and counter in words: everything that cycles depend on besides model and target."""

    def check(self, target: Target) -> None:
        """Raises an error for a target that cannot be measured."""

    def cycles(self, compiled: Compiled) -> list[int]:
        """Cycles of each layer of the plan (`plan.works`) in one inference, including memory waits."""


@dataclass(frozen=True)
class Simulated:
    """Measures by simulation: an emulator runs the model, and models of pipeline and flash count cycles."""

    compiler: str | None = None
    emulator: str | None = None

    def tools(self, target: Target) -> str:
        tools = find_emulator(target, self.emulator), find_compiler(target, self.compiler)
        return ", ".join(["simulated cycles", *(f"{tool.kind} {tool.version}".strip() for tool in tools)])

    def check(self, target: Target) -> None:
        missing = missing_tools(target, self.compiler, self.emulator, what="cycles")
        if missing is not None:
            raise missing
        check_cycles(target)

    def cycles(self, compiled: Compiled) -> list[int]:
        (costs,) = steps(compiled, compiler=self.compiler, emulator=self.emulator)
        return [cost.cycles for cost in costs]


@dataclass(frozen=True)
class OnBoards:
    """Measures with the cycle counters of boards; each model runs on a free one."""

    pool: BoardPool
    counter: str
    """Description of the boards' counter: unit, clock and wait states."""
    compiler: str | None = None

    def tools(self, target: Target) -> str:
        compiler = find_compiler(target, self.compiler)
        return f"{self.counter}, {compiler.kind} {compiler.version}".strip()

    def check(self, target: Target) -> None:
        find_compiler(target, self.compiler)
        for board in self.pool.boards:
            stated = target_of(board)
            if stated.name != target.name and not (board.address.is_emulated and stated.cpu == target.cpu):
                raise MoteError(
                    f"is a {stated.name}, and the model is tuned for {target.name}",
                    where=f"board {board.label}",
                    remedy=f"omit --target, or give --target {stated.name}",
                )

    def cycles(self, compiled: Compiled) -> list[int]:
        return self.pool.evaluate(lambda board: self._counted(compiled, board))

    def _counted(self, compiled: Compiled, board: BoardEntry) -> list[int]:
        raw = stimulus(compiled.plan.graph, None)[:1]
        with temporary_folder() as folder, bench(compiled, folder, compiler=self.compiler, board=board) as on:
            counts = [taken for _ in range(RUNS) for taken in on.execute(Mode.PROFILE, raw).steps or ()]
            self.pool.note(board, on.facts.interruptions if on.facts else ())
        if len(counts) < RUNS:
            raise MoteError(
                "has no counter of cycles",
                where=f"board {board.label}",
                remedy="let mote_port_cycles of its agent count",
            )
        return [median_low(each) for each in zip(*counts, strict=True)]


def on_boards(pool: BoardPool, compiler: str | None = None) -> OnBoards:
    """A measurer for a pool of boards with equal counters."""
    counters = {counter_of(board): board.label for board in pool.boards}
    if len(counters) > 1:
        described = "; ".join(f"{label} {counter}" for counter, label in counters.items())
        raise MoteError(
            f"its boards count differently: {described}", where="option board", remedy="tune on boards that are alike"
        )
    return OnBoards(pool, next(iter(counters)), compiler)
