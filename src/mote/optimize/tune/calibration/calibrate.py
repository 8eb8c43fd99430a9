"""`mote.calibrate_target`: writes a target file with memory timing and kernel costs measured on a board."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import mote.hardware.targets as targets
from mote.base.errors import MoteError, explaining
from mote.base.files import write_file
from mote.base.notebook import table
from mote.base.progress import Say, silent
from mote.base.results import Result
from mote.hardware.targets import Memory, Reads, Target
from mote.hardware.targets.extending import extending_file
from mote.hardware.targets.memory import HOLDS
from mote.optimize.tune.calibration.board_costs import CostFit, fit_costs
from mote.optimize.tune.calibration.cost_fit import EVERY
from mote.optimize.tune.calibration.measurer import BoardMeasurer, EmulatedMeasurer, Measurer
from mote.optimize.tune.calibration.memory_fit import MemoryFit, fit_memory, with_reads

BEGINS = "# Calibrated by `mote calibrate-target`"
_READS = ("wait_states", "read_bytes", "line_bytes", "prefetch", "code_lines", "data_lines", "shared_lines", "ways")
_DIGITS = 3


@dataclass(frozen=True, repr=False)
class Calibration(Result):
    """Measured memory timing and costs of a target, with their errors."""

    LINE = "of {target} on {measured_on}: error {memory.error:.2%}"
    TITLE = "{target} on {measured_on}"
    FACTS = "memory=memory.reads, error=memory.error:.2%, error of costs=costs.error:.2%"

    target: str
    """Name of the target to calibrate."""
    measured_on: str
    """Description of the board, or of the emulated part."""
    memory: MemoryFit
    """Fitted memory timing and its error."""
    costs: CostFit | None = None
    """Fitted kernel cost table and its error; None if not measured."""

    @property
    def source(self) -> str:
        """Provenance of the memory timing, as stated in target files."""
        return (
            f"mote calibrate-target on {self.measured_on}: {self.memory.programs} programs, mean error"
            f" {self.memory.error:.1%}"
        )

    @property
    def errors(self) -> dict[str, float]:
        """Mean relative errors, by family of microbenchmarks and of kernels."""
        return self.memory.families | ({} if self.costs is None else self.costs.families)

    def toml(self, extends: str = "", costs: str = "") -> str:
        """Text of the target file, which extends the calibrated target; `costs` is the file name of its cost table."""
        base = targets.load(self.target)
        reads = replace(self.memory.reads, source=self.source)
        measured = with_reads(base, reads)
        lines = [
            f"{BEGINS} on {self.measured_on}: mean error {self.memory.error:.2%} of {self.memory.programs} programs.",
            f"extends = {json.dumps(extends or self.target)}",
            *([f"costs = {json.dumps(costs)}"] if costs else []),
        ]
        if base.memories:
            for memory in measured.memories:
                lines += ["", "[[memory]]", *_memory(memory)]
        else:
            lines += ["", "[reads]", *_reads(reads)]
        lines += ["", "[calibration]", f"measured = {json.dumps(self.source)}"]
        lines += [f"memory_error = {_rounded(self.memory.error)}"]
        lines += [] if self.costs is None else [f"cost_error = {_rounded(self.costs.error)}"]
        lines += ["", "[calibration.errors]"]
        lines += [f"{json.dumps(family)} = {_rounded(error)}" for family, error in self.errors.items()]
        return "\n".join(lines) + "\n"

    def write(self, path: str | Path) -> str:
        """Writes the target file and, next to it, the cost table if there is one."""
        file, extends = extending_file(path, self.target)
        table = file.with_suffix(".json")
        if self.costs is not None:
            write_file(str(table), self.costs.table.encode(), b'{\n  "unit": "cycles"')
        write_file(str(file), self.toml(extends, table.name if self.costs else "").encode(), BEGINS.encode())
        return str(file)

    def _parts(self) -> list[str]:
        return [table(("programs", "error"), [(family, f"{error:.2%}") for family, error in self.errors.items()])]


@explaining()
def calibrate_target(
    target: str,
    *,
    board: str | None = None,
    emulated: str | None = None,
    measurer: Measurer | None = None,
    costs: bool = False,
    every: int = EVERY,
    families: Sequence[str] = (),
    trust_target: bool = False,
    say: Say = silent,
) -> Calibration:
    """Measure microbenchmarks on a board and fit its memory timing: wait states, cache lines, prefetch; with `costs`
    also measure layers with each of their kernels, for the cost table of the planner.

    `target` is the part or its core, on whose emulator the same programs are traced. They run on a `board` with an
    agent, on the profiler's model of an `emulated` part, or on any other `measurer`. `costs` measures every Nth layer
    (`every`) of all kernel `families` or of some. The result writes a target file that extends the target, including
    errors; `say` is a progress callback."""
    base = targets.load(target, trusted=trust_target)
    chosen = [each for each in (board, emulated, measurer) if each is not None]
    if len(chosen) != 1:
        raise MoteError(
            "needs one thing to measure on",
            where=f"target {base.name}",
            remedy="give --board ADDRESS, or --emulated PART",
        )
    if measurer is None:
        measurer = BoardMeasurer(board) if board is not None else _emulated(str(emulated), base, trust_target)
    if every < 1:
        raise MoteError(f"must be a positive number, not {every}", where="option every")
    memory = fit_memory(measurer, base, say)
    table = None
    if costs or families:
        table = fit_costs(measurer, base, memory.reads, every=every, only=families, say=say)
    return Calibration(target, measurer.title, memory, table)


def _emulated(name: str, base: Target, trusted: bool) -> EmulatedMeasurer:
    part = targets.load(name, trusted=trusted)
    if (part.arch, part.cpu) != (base.arch, base.cpu):
        raise MoteError(
            f"is a {part.cpu}, and {base.name} a {base.cpu}",
            where=f"option emulated {name}",
            remedy="name a part with the same core",
        )
    return EmulatedMeasurer(part)


def _memory(memory: Memory) -> list[str]:
    """TOML lines of a memory."""
    lines = [f"name = {json.dumps(memory.name)}", f'kind = "{memory.kind}"', f"size = {memory.size}"]
    lines += [] if memory.origin is None else [f"origin = 0x{memory.origin:08X}"]
    lines += [f"wait = {memory.wait}"] if memory.wait else []
    lines += [f"holds = {json.dumps(list(memory.holds))}"] if memory.holds != HOLDS else []
    lines += [f"section = {json.dumps(memory.section)}"]
    return lines + (_reads(memory.reads) if memory.reads != Reads() else [])


def _reads(reads: Reads) -> list[str]:
    """TOML lines of a memory's timing, without default values."""
    values = {key: getattr(reads, key) for key in _READS}
    usual = asdict(Reads(read_bytes=reads.read_bytes, line_bytes=reads.read_bytes))
    kept = {key: value for key, value in values.items() if value != usual[key] or key in ("wait_states", "read_bytes")}
    lines = [f"{key} = {json.dumps(value)}" for key, value in kept.items()]
    return [*lines, *([f"source = {json.dumps(reads.source, ensure_ascii=False)}"] if reads.source else [])]


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
