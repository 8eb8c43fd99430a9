"""Fits a part's memory timing to measured microbenchmarks.

The forward model is the profiler's: the programs are traced on an emulated core, and `measure/profiler/waits.py`
simulates the waits for a memory timing. First the parameters that few programs determine are fitted (cache line miss
cycles, line size, prefetch), then those that depend on them (number of lines for code, for constants, or shared),
finally all of them by local search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.base.files import temporary_folder
from mote.base.progress import Say, silent
from mote.bench.measure.profiler.costs import marked_run
from mote.bench.measure.profiler.trace import FlashLoads
from mote.bench.measure.profiler.waits import Zone, simulate
from mote.bench.measure.profiler.zones import zones
from mote.bench.measure.runner import bench
from mote.hardware.cores.instructions import Timed
from mote.hardware.targets import Reads, Target
from mote.optimize.tune.calibration.measurer import Measurer
from mote.optimize.tune.calibration.microbenchmarks import (
    FAMILIES,
    Microbenchmark,
    firmware_of,
    first_microbenchmarks,
    line_microbenchmarks,
)

Reals = NDArray[np.float64]

LINES = (4, 8, 16, 32, 64, 128)
"""Candidate line sizes in bytes."""
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
"""Candidate numbers of cached lines."""
WAYS = (None, 1, 2, 4, 8)
MOST_WAIT = 1023
"""Maximum wait states of a line."""
MOST_BYTES = 1 << 16
"""Maximum flash bytes of one program."""
SHORT = 200
"""Cycles added to the denominator of relative errors, so that short programs weigh less."""
AS_PUBLISHED = 0.005
"""Minimum improvement of the error to justify a correction factor on the core's own cycles."""
SHARE = 8
"""One program may take at most 1 / SHARE of the flash."""
_SLACK = 1e-12


@dataclass(frozen=True)
class MemoryFit:
    """Fitted memory timing, and its error."""

    reads: Reads
    """Memory timing: wait states, cache lines and prefetch."""
    error: float
    """Mean relative error over all programs."""
    families: dict[str, float]
    """Mean relative error of each family of programs."""
    programs: int
    """Number of measured programs."""


@dataclass(frozen=True)
class ForwardModel:
    """Traced programs on an emulated core, from which cycles follow for any memory timing."""

    programs: tuple[Microbenchmark, ...]
    core: Reals
    """Cycles of each program with zero-wait memory."""
    blocks: Sequence[Sequence[Timed]]
    order: NDArray[np.int32]
    loads: FlashLoads
    spans: Sequence[Sequence[tuple[int, int]]]
    """Ranges of executed blocks of each program, as positions in `order`."""
    zones: Callable[[Reads], Sequence[Zone]]
    """Computes the memory map for a flash timing."""
    estimate: bool = False
    """Whether the core's own cycle counts are estimates, not published."""

    def only(self, families: Collection[str]) -> ForwardModel:
        """The model reduced to some families of programs, including everything executed before them."""
        kept = [n for n, program in enumerate(self.programs) if program.family in families]
        end = self.spans[kept[-1]][-1][1]
        used, order = np.unique(self.order[:end], return_inverse=True)
        inside = self.loads.places < end
        return replace(
            self,
            programs=tuple(self.programs[n] for n in kept),
            core=self.core[kept],
            blocks=[self.blocks[block] for block in used.tolist()],
            order=order.astype(np.int32),
            loads=FlashLoads(self.loads.addresses[inside], self.loads.sizes[inside], self.loads.places[inside]),
            spans=[self.spans[n] for n in kept],
        )

    def waits(self, reads: Reads) -> Reals:
        """Wait cycles of each program for a memory timing."""
        slow = simulate(self.blocks, self.order, self.loads, self.zones(reads))
        total = np.concatenate([[0], np.cumsum(slow.code + slow.data)])
        return np.array([sum(total[hi] - total[lo] for lo, hi in spans) for spans in self.spans], np.float64)


def with_reads(target: Target, reads: Reads) -> Target:
    """The target with a timing for the memory that holds code and constants."""
    used = {memory.name for memory in (target.code_memory, target.constants_memory) if memory is not None}
    memories = tuple(replace(m, reads=reads) if m.name in used else m for m in target.memories)
    return replace(target, memories=memories, reads=reads)


def trace_programs(programs: Sequence[Microbenchmark], target: Target) -> ForwardModel:
    """Traces programs on the emulated core."""
    with temporary_folder() as folder:
        ran, calls = marked_run(bench(firmware_of(programs, target), folder), [])
    if calls.loads is None:
        raise MoteError(
            "which constants are read is not known here",
            where=f"target {target.name}",
            remedy="install a C compiler for this computer and a QEMU that takes plug-ins",
        )
    costs = calls.steps(len(programs))
    return ForwardModel(
        tuple(programs),
        np.array([cost.cycles - cost.waits.code - cost.waits.constants for cost in costs], np.float64),
        calls.blocks,
        calls.order,
        calls.loads,
        calls.step_spans(len(programs)),
        lambda reads: zones(with_reads(target, reads), ran.board, ran.code, ran.sections),
        calls.core.estimate,
    )


@dataclass(frozen=True)
class Measurements:
    """A forward model with the measured cycles of its programs."""

    model: ForwardModel
    cycles: Reals

    def predicted(self, reads: Reads) -> Reals:
        """Predicted cycles for a memory timing. If the core's own cycles are estimates, they get a best-fit factor."""
        waits, core = self.model.waits(reads), self.model.core
        if not self.model.estimate:
            return core + waits
        weight = 1 / (self.cycles + SHORT) ** 2
        factor = float((weight * core * (self.cycles - waits)).sum() / (weight * core * core).sum())
        scaled = np.clip(factor, 0.5, 2.0) * core + waits
        plain, other = (float((weight * (each - self.cycles) ** 2).mean()) for each in (core + waits, scaled))
        return core + waits if plain <= other + AS_PUBLISHED**2 else scaled

    def errors(self, reads: Reads) -> Reals:
        """Relative errors of all programs, damped for short ones."""
        return (self.predicted(reads) - self.cycles) / (self.cycles + SHORT)

    def error(self, reads: Reads) -> float:
        """Mean squared relative error of all programs."""
        return float(np.square(self.errors(reads)).mean())

    def only(self, *families: str) -> Measurements:
        """The measurements of some families of programs."""
        which = [program.family in families for program in self.model.programs]
        return replace(self, model=self.model.only(families), cycles=self.cycles[which])


Tracer = Callable[[Sequence[Microbenchmark], Target], ForwardModel]


def fit_memory(measurer: Measurer, target: Target, say: Say = silent, trace: Tracer = trace_programs) -> MemoryFit:
    """Measures microbenchmarks and fits the memory timing of a part; `target` is its core."""
    say(f"measuring wait states on {measurer.title}")
    first = _measured(measurer, first_microbenchmarks(), target, trace)
    code = first.only("hops", "straight")
    shapes = [Reads(1, line, prefetch, line, 8) for line in LINES for prefetch in (False, True)]
    reads = _best((_fitted_wait_states(code, shape) for shape in shapes), code.error)
    reads = _with_constants(first.only("loads"), reads)
    say(f"{reads.miss} cycles for a line of {reads.line_bytes} bytes; measuring how many lines are kept")
    most = MOST_BYTES if target.flash is None else min(MOST_BYTES, target.flash // SHARE)
    second = _measured(measurer, line_microbenchmarks(reads.line_bytes, reads.line_bytes, most), target, trace)
    if reads.miss:
        reads = _with_lines(second, reads)
        reads = _local_search(reads, lambda each: first.error(each) + second.error(each))
    errors: dict[str, list[float]] = defaultdict(list)
    for measured in (first, second):
        for program, error in zip(measured.model.programs, measured.errors(reads).tolist(), strict=True):
            errors[program.family].append(abs(error))
    every = [error for family in errors.values() for error in family]
    families = {family: float(np.mean(each)) for family, each in errors.items()}
    return MemoryFit(reads, float(np.mean(every)), families, len(every))


def _measured(measurer: Measurer, programs: Sequence[Microbenchmark], target: Target, trace: Tracer) -> Measurements:
    model = trace(programs, target)
    cycles = measurer.steps(firmware_of(programs, target))
    if len(cycles) != len(programs) or min(cycles, default=0) <= 0:
        raise MoteError(
            f"measured {len(cycles)} programs of {len(programs)}, or one without any cycles",
            where=measurer.title,
            remedy="its agent needs a cycle counter, and a firmware with this many steps (MOTE_AGENT_STEPS)",
        )
    return Measurements(model, np.array(cycles, np.float64)).only(*FAMILIES)


def _best(candidates: Iterable[Reads], error: Callable[[Reads], float]) -> Reads:
    """The candidate with the least error; the first one of ties."""
    best, least = Reads(), np.inf
    for candidate in candidates:
        now = error(candidate)
        if now < least - _SLACK:
            best, least = candidate, now
    return best


def _fitted_wait_states(code: Measurements, reads: Reads) -> Reads:
    """The wait states with the least error. Without prefetch they equal the mean miss penalty; with prefetch some
    misses are shorter, at most by the instructions of a line."""
    single = code.model.waits(replace(reads, wait_states=1, prefetch=False))
    taken = np.maximum(code.cycles - code.model.core, 0.0)
    mean = round(float((single * taken).sum() / max((single * single).sum(), 1.0)))
    above = reads.line_bytes // 2 + 2 if reads.prefetch else 2
    waits = range(max(mean - 2, 0), min(mean + above, MOST_WAIT) + 1)
    return _best((replace(reads, wait_states=wait) for wait in waits), code.error)


def _with_constants(loads: Measurements, reads: Reads) -> Reads:
    """Fits whether constants are cached in lines like code or read one by one, and their wait states."""
    widths = [
        width for width in LINES if width <= reads.line_bytes and (reads.miss + 1) * width % reads.line_bytes == 0
    ]
    apart = [
        replace(reads, wait_states=(reads.miss + 1) * width // reads.line_bytes - 1, read_bytes=width, data_lines=0)
        for width in sorted(widths, reverse=True)
    ]
    return _best([*apart, replace(reads, data_lines=8)], loads.error)


def _with_lines(second: Measurements, reads: Reads) -> Reads:
    """Fits the number of cached lines for code and for constants, or shared by both."""
    code = [replace(reads, code_lines=n, ways=ways) for n in COUNTS for ways in WAYS if _divides(n, ways)]
    reads = _best(code, second.only("loops").error)
    if not reads.keeps_data:
        return reads
    apart = [replace(reads, data_lines=n) for n in COUNTS if _divides(n, reads.ways)]
    shared = [
        replace(reads, data_lines=0, shared_lines=True, ways=ways) for ways in WAYS if _divides(reads.code_lines, ways)
    ]
    return _best([*shared, *apart], second.error)


def _divides(lines: int, ways: int | None) -> bool:
    return ways is None or (lines % ways == 0 and lines > ways)


def _all_fit(reads: Reads, ways: int | None) -> bool:
    return all(not lines or _divides(lines, ways) for lines in (reads.code_lines, reads.data_lines))


def _local_search(reads: Reads, error: Callable[[Reads], float]) -> Reads:
    """Local search: moves to better neighbouring timings until there is none."""
    while True:
        better = _best([reads, *_neighbours(reads)], error)
        if better == reads:
            return reads
        reads = better


def _neighbours(reads: Reads) -> list[Reads]:
    waits = [replace(reads, wait_states=reads.wait_states + step) for step in (-1, 1) if reads.wait_states + step >= 0]
    others = [replace(reads, prefetch=not reads.prefetch)]
    pairs = [*pairwise(COUNTS), *(pair[::-1] for pair in pairwise(COUNTS))]
    lines = [replace(reads, code_lines=b) for a, b in pairs if reads.code_lines == a and _divides(b, reads.ways)]
    lines += [replace(reads, data_lines=b) for a, b in pairs if reads.data_lines == a and _divides(b, reads.ways)]
    others += [replace(reads, ways=ways) for ways in WAYS if _all_fit(reads, ways)]
    return [*waits, *others, *lines]
