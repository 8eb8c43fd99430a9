"""Measurers: what tuning asks for the cycles of each layer of a compiled model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from mote.compiler.compiled import Compiled
from mote.compiler.firmware import missing_tools
from mote.measure.profiler import steps
from mote.measure.profiler.costs import check_cycles
from mote.targets import Target
from mote.toolchain import find_compiler, find_emulator


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
