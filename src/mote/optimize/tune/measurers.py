"""Measurers: what tuning asks for the cycles of each layer of a compiled model."""

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
"""Inferences on a board, of which each layer takes the middle count: interrupts may fall into one of them."""


class Measurer(Protocol):
    """Anything that runs a compiled model and counts cycles. It is sent to worker processes, so it can be pickled."""

    def tools(self, target: Target) -> str:
        """All that cycles depend on beside the model and the target, in words: the compiler, and who counts."""

    def check(self, target: Target) -> None:
        """Refuses a target that it cannot measure on."""

    def cycles(self, compiled: Compiled) -> list[int]:
        """Cycles of each layer of the plan (`plan.works`) in one inference, waits for memory included."""


@dataclass(frozen=True)
class Simulated:
    """The profiler's simulation: an emulator runs the model, and a model of the pipeline and of flash counts cycles."""

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
    """The counter of a board, or of boards of one kind: each model is measured on one that is free."""

    pool: BoardPool
    counter: str
    """The unit and the counter, the clock and the wait states of all of the boards, in words."""
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
    """A measurer on a pool of boards that count alike."""
    counters = {counter_of(board): board.label for board in pool.boards}
    if len(counters) > 1:
        told = "; ".join(f"{label} {counter}" for counter, label in counters.items())
        raise MoteError(
            f"its boards count differently: {told}", where="option board", remedy="tune on boards that are alike"
        )
    return OnBoards(pool, next(iter(counters)), compiler)
