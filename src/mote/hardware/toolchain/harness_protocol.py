"""File protocol between Mote and the harness (harness/main.c): inputs in, a stream of records out."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from mote.base.errors import MoteError
from mote.hardware.cores.board import WORD, Board
from mote.hardware.toolchain.builder import Mode

INPUTS = "mote_inputs.bin"
RESULTS = "mote_results.bin"


class Tag(IntEnum):
    """Record tags, as in harness/main.c."""

    CALIBRATION = 1
    MARK = 2
    DUMP = 3
    RUN = 4
    OUTPUT = 5
    FAILURE = 6
    FAULT = 7
    END = 8


@dataclass(frozen=True)
class Execution:
    """Results of inferences; every list has an entry per inference."""

    outputs: list[list[bytes]]
    dumps: list[dict[int, bytes]]
    instructions: list[int] | None
    steps: list[list[int]] | None
    stack: int | None
    longest: list[int] | None = None
    """Maximum instructions between two traces: the longest step."""


@dataclass(frozen=True)
class Fault:
    """A trap of the core: exception number (Arm) or mcause (RISC-V), and its address."""

    cause: int
    pc: int


@dataclass(frozen=True)
class _Run:
    """`struct port_run` of the harness."""

    before: int
    after: int
    high_before: int
    high_after: int
    stack: int
    overflowed: int
    last_mark: int
    skipped: int

    @property
    def end(self) -> int:
        """End time, minus time spent in simulated accelerators."""
        return (self.after - self.skipped) % WORD


@dataclass
class _Inference:
    """Records of one inference in order of arrival."""

    marks: list[tuple[int, int, int]] = field(default_factory=list)
    dump: dict[int, list[bytes]] = field(default_factory=dict)
    outputs: list[bytes] = field(default_factory=list)
    run: _Run | None = None
    steps: int = 0


@dataclass(frozen=True)
class _Overhead:
    """Instruction overhead of measuring: per call, up to the first mark, between marks, after the last."""

    call: int
    first: int
    between: int
    last: int


def write_inputs(workdir: Path, inputs: Sequence[Sequence[bytes]]) -> None:
    """Writes the harness's input file; all inferences must have equal input sizes."""
    sizes = [len(x) for x in inputs[0]] if inputs else []
    for index, row in enumerate(inputs):
        if [len(x) for x in row] != sizes:
            raise MoteError(f"inference {index} has inputs of other sizes than inference 0")
    head = struct.pack(f"<{2 + len(sizes)}I", len(inputs), len(sizes), *sizes)
    (workdir / INPUTS).write_bytes(head + b"".join(x for row in inputs for x in row))
    (workdir / RESULTS).unlink(missing_ok=True)


def records(workdir: Path) -> list[tuple[int, int, bytes]]:
    """All complete records in the results file, which a crash may have truncated."""
    path = workdir / RESULTS
    return list(_records(path.read_bytes())) if path.exists() else []


def _records(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = 0
    while at + 12 <= len(data):
        tag, argument, size = struct.unpack_from("<3I", data, at)
        if at + 12 + size > len(data):
            return
        yield tag, argument, data[at + 12 : at + 12 + size]
        at += 12 + size


def fault_in(entries: list[tuple[int, int, bytes]]) -> Fault | None:
    """The trap that ended the run; None without one."""
    return next((Fault(*struct.unpack("<2I", data)) for tag, _, data in entries if tag == Tag.FAULT), None)


def failure_in(entries: list[tuple[int, int, bytes]]) -> str | None:
    """Error reported by the harness itself, in words."""
    for tag, argument, data in entries:
        if tag == Tag.RUN and _Run(*struct.unpack("<8I", data)).overflowed:
            return "the model used more than 64 KB of stack"
        if tag == Tag.FAILURE:
            (detail,) = struct.unpack("<i", data)
            return {
                1: "the inputs given are not those of the model (their number or sizes differ)",
                2: f"the model's init function failed with status {detail}",
                3: f"the model's run function failed with status {detail}",
            }.get(argument, f"failure {argument}, status {detail}")
    return None


def finished(entries: list[tuple[int, int, bytes]]) -> bool:
    return bool(entries) and entries[-1][0] == Tag.END


def interpret(entries: list[tuple[int, int, bytes]], mode: Mode, board: Board | None) -> Execution:
    """Converts the records of a finished run to results; `board` is None on the host, where nothing is counted."""
    inferences, calibration = _group(entries)
    outputs = [i.outputs for i in inferences]
    dumps = [{step: b"".join(pieces) for step, pieces in i.dump.items()} for i in inferences]
    if board is None or mode == Mode.DUMP:
        return Execution(outputs, dumps, None, None, None)
    overhead = _overhead(board, calibration)
    for inference in inferences:
        _check(board, inference)
    if mode == Mode.MEASURE:
        runs = [i.run for i in inferences if i.run]
        totals = [board.elapsed(r.before, r.end) - overhead.call for r in runs]
        return Execution(outputs, dumps, totals, None, max((r.stack for r in runs), default=None))
    profiles = [_profile(board, overhead, i) for i in inferences]
    return Execution(outputs, dumps, [p[0] for p in profiles], [p[1] for p in profiles], None, [p[2] for p in profiles])


def _group(entries: list[tuple[int, int, bytes]]) -> tuple[list[_Inference], list[_Inference]]:
    """Groups records by inference, separating the two calibration runs before them. A RUN record follows its marks and
    dumps."""
    inferences: list[_Inference] = []
    calibration: list[_Inference] = []
    current = _Inference()
    for tag, argument, data in entries:
        if tag == Tag.MARK:
            current.marks.append((argument, *struct.unpack("<2I", data)))
        elif tag == Tag.DUMP:
            current.dump.setdefault(argument, []).append(data)
        elif tag == Tag.OUTPUT:
            inferences[-1].outputs.append(data)
        elif tag in (Tag.RUN, Tag.CALIBRATION):
            current.run = _Run(*struct.unpack("<8I", data))
            current.steps = argument
            (inferences if tag == Tag.RUN else calibration).append(current)
            current = _Inference()
    return inferences, calibration


def _check(board: Board, inference: _Inference) -> None:
    run = inference.run
    assert run is not None
    if board.wrapped(run.before, run.after, run.high_before, run.high_after):
        raise MoteError(
            f"one inference took more than the {board.limit / 1e9:.1f} G instructions that can be counted",
            remedy="the outputs can still be had with dumping or on the host; the count cannot",
        )


def _overhead(board: Board, calibration: list[_Inference]) -> _Overhead:
    """Measuring overhead from the calibration runs port_nothing and port_two_marks, whose instructions are known."""
    nothing, marks = (c.run for c in calibration)
    assert nothing and marks
    (_, _, first), (_, leave, enter) = calibration[1].marks
    alone, before, after = board.known
    return _Overhead(
        call=board.elapsed(nothing.before, nothing.after) - alone,
        first=board.elapsed(marks.before, first) - before,
        between=board.elapsed(leave, enter),
        last=board.elapsed(marks.last_mark, marks.after) - after,
    )


def _profile(board: Board, overhead: _Overhead, inference: _Inference) -> tuple[int, list[int], int]:
    """Total instructions, per operator, and of the longest step. Instructions after the last mark only count in the
    total."""
    run = inference.run
    assert run is not None
    steps = [0] * inference.steps
    if not inference.marks:
        total = board.elapsed(run.before, run.end) - overhead.call
        return total, steps, total
    longest = 0
    for index, (step, leave, enter) in enumerate(inference.marks):
        if step >= len(steps):
            raise MoteError(
                f"the model traced step {step}, but said it has {len(steps)}", remedy="this is a bug of Mote"
            )
        start, cost = (leave, overhead.between) if index else (run.before, overhead.first)
        taken = board.elapsed(start, enter) - cost
        steps[step] += taken
        longest = max(longest, taken)
    rest = board.elapsed(run.last_mark, run.end) - overhead.last
    return sum(steps) + rest, steps, longest + rest
