"""Runs a plan in NumPy, in an arena of exactly its bytes, and trusts nothing: independent of the C and of the checker.

A step gets the rows that its operator reads out of the arena and nothing else: whatever it may not read is noise. What
kernels may write early (working memory, sums, an output that is not allowed over an input) is noise before the inputs
are read, and rows that nobody reads any more become noise at once. Every row that is read or computed is compared with
what the graph computes as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mote.graph import Graph, Op
from mote.graph.graph import ABSENT
from mote.graph.region import Numbers
from mote.graph.rows import OUTSIDE, row_count
from mote.graph.tensor import Array
from mote.graph.tolerance import Magnitudes, compare
from mote.graph.types import DType
from mote.kernels.contract import Call, Layout
from mote.ops.common import Axis, WindowOp
from mote.plan.plan import ALIGNMENT, Buffer, Plan, Step
from mote.plan.rows import Arrival

Bytes = NDArray[np.uint8]


class CorruptError(Exception):
    """The plan computes something else than the graph."""


@dataclass(frozen=True)
class Span:
    """Bytes lo..hi-1 of one of the plan's memories."""

    memory: int
    lo: int
    hi: int

    def meets(self, other: Span) -> bool:
        return self.memory == other.memory and self.lo < other.hi and other.lo < self.hi


Row = tuple[int, int]
"""A tensor and one of its rows."""


def execute(plan: Plan, inputs: Mapping[int, Array], *, seed: int = 0, missing: int = 0) -> dict[int, Array]:
    """The outputs of a plan, or CorruptError. `missing`: run it in an arena that is so many bytes smaller."""
    return _Machine(plan, inputs, seed, missing).run()


class _Machine:
    def __init__(self, plan: Plan, inputs: Mapping[int, Array], seed: int, missing: int) -> None:
        self.plan, self.graph = plan, plan.graph
        self.rng = np.random.default_rng(seed)
        *others, last = plan.arenas
        self.memories = [self._noise(n) for n in (*others, last - missing)]
        values = self.graph.evaluate(inputs)
        self.magnitudes = Magnitudes(self.graph).step(values)
        self.want = {t: _flat(values[t], plan.place[t].layout) for t in plan.place}
        """The bytes of every tensor in its buffer's layout."""
        self.taps: dict[Numbers, dict[int, Bytes]] = {}
        """Of operators that keep sums: the rows that were added."""
        self.arrived: dict[int, int] = {}
        """How many rows of an input have been handed over."""
        self.last = self._last_readers()

    def run(self) -> dict[int, Array]:
        graph = self.graph
        for buffer in self.plan.buffers:
            _check_aligned(buffer)
        pushed = any(isinstance(self.plan.op(s), Arrival) for s in self.plan.steps)
        if not pushed:
            for t in graph.inputs:
                self._check_strip(t)
                for row in self._all_rows(t):
                    self._write(row)
            self._bury(-1)
        for i, step in enumerate(self.plan.steps):
            try:
                self._step(i, step)
            except CorruptError as error:
                op = self.plan.op(step)
                raise CorruptError(f"step {i} {op.kind} '{op.name}' rows {step.rows}: {error}") from None
        if pushed and self.arrived != {t: self._count(t) for t in graph.inputs}:
            raise CorruptError("rows of the input are left over")
        for t in graph.outputs:
            self._check_strip(t)
            for row in self._all_rows(t):
                self._check(row, self._at(self._span(row)))
        return {
            t: self._tensor(t, {y: self._at(self._span((t, y))) for _, y in self._all_rows(t)}) for t in graph.outputs
        }

    def _step(self, i: int, step: Step) -> None:
        op = self.plan.op(step)
        if isinstance(op, Arrival):
            self._arrive(op.outputs[0], range(step.rows.lo, step.rows.hi))
            return
        first, last = self._ends(i, step)
        kernel, (out, *others) = step.kernel, op.outputs
        written = [(out, y) for y in range(step.rows.lo, step.rows.hi)] if last else []
        written += [row for t in others if last for row in self._all_rows(t)]
        self._check_strips(step)
        self._check_layouts(step)
        scratch = _working(step.scratch_memory, step.scratch, kernel.scratch or 0)
        sums = _working(step.sums_memory, step.sums, kernel.sums)
        if sums and scratch and sums.meets(scratch):
            raise CorruptError("sums lie over the working memory")
        if sums and not first and not np.array_equal(self._at(sums), self._token(step)):
            raise CorruptError("its sums were overwritten")
        self._spoil(scratch)
        rows = {row: self._fetch(row, step, written, sums) for row in self._reads(step)}
        for row, data in rows.items():
            self._check(row, data)
        if kernel.call is Call.ADDS:
            rows = self._add(step, rows)
        self._bury(i)
        if sums and not last:
            self._at(sums)[:] = self._token(step)
        if written:
            if sums and any(self._span(r).meets(sums) and self._span(r).lo != sums.lo for r in written):
                raise CorruptError("the output lies over the sums, but not where they begin")
            self._compute(step, rows, written)
        self._spoil(scratch)
        for row in written:
            self._check(row, self._at(self._span(row)))

    def _arrive(self, tensor: int, rows: range) -> None:
        """The caller hands over the next row of the input, whatever the plan takes it for."""
        number = self.arrived.get(tensor, 0)
        if rows != range(number, number + 1) or number >= self._count(tensor):
            raise CorruptError(f"row {number} arrives")
        self.arrived[tensor] = number + 1
        self._write((tensor, number))

    def _compute(self, step: Step, rows: Mapping[Row, Bytes], written: list[Row]) -> None:
        """The rows `written` from `rows` alone, compared with the reference and put into the arena."""
        op, graph = self.plan.op(step), self.graph
        given: dict[int, dict[int, Bytes]] = {t: {} for t in op.inputs}
        for (t, y), data in rows.items():
            given[t][y] = data
        values = [None if t == ABSENT else self._value(t, given[t]) for t in op.inputs]
        found = _evaluate(op, graph, values, step.rows.lo, step.rows.hi)
        for t, values_of in zip(op.outputs, found, strict=True):
            expected = self._reference([row for row in written if row[0] == t])
            if compare(values_of, expected, self.magnitudes.get(t, 0.0))[1]:
                raise CorruptError(f"output {t} is wrong")
        for row in written:
            self._write(row)

    def _reference(self, written: list[Row]) -> Array:
        t = written[0][0]
        whole = self._tensor(t, {y: self._wanted((t, y)) for _, y in written})
        return _rows(whole)[[y for _, y in written]]

    def _value(self, t: int, rows: Mapping[int, Bytes]) -> Array:
        data = self.graph.tensors[t].data
        return self._tensor(t, rows) if data is None else data

    def _tensor(self, t: int, rows: Mapping[int, Bytes]) -> Array:
        """A tensor of which only `rows` are known; the rest is noise."""
        tensor = self.graph.tensors[t]
        values = _rows(_garbage(self.rng, tensor.shape, tensor.dtype))
        layout = self.plan.place[t].layout
        for y, data in rows.items():
            values[y] = layout.load(data.view(tensor.dtype.numpy), values.shape[1:])
        return values.reshape(tensor.shape)

    def _reads(self, step: Step) -> list[Row]:
        """The rows of computed tensors that a step reads."""
        op, graph = self.plan.op(step), self.graph
        found: dict[Row, None] = {}
        for position, t in enumerate(op.inputs):
            if t == ABSENT or graph.tensors[t].data is not None:
                continue
            everything = range(self._count(t))
            if step.tap is not None:
                wanted: Iterable[int] = [(op.reads(graph, position, 0) or everything)[step.tap]]
            elif op.reads(graph, position, 0) is None:
                if not step.whole:
                    raise CorruptError("an operator that can only run whole runs by rows")
                wanted = everything
            else:
                wanted = (r for y in range(step.rows.lo, step.rows.hi) for r in op.reads(graph, position, y) or ())
            found.update(((t, r), None) for r in wanted if r != OUTSIDE)
        return list(found)

    def _fetch(self, row: Row, step: Step, written: list[Row], sums: Span | None) -> Bytes:
        """The bytes of a row as the step sees them, when all it writes may have been written before."""
        span = self._span(row)
        data = self._at(span).copy()
        early = [self._span(w) for w in written if not self._in_place(step, row, w)]
        for other in (*early, *([sums] if sums else [])):
            if span.meets(other):
                lo, hi = max(span.lo, other.lo), min(span.hi, other.hi)
                data[lo - span.lo : hi - span.lo] = self._noise(hi - lo)
        return data

    def _in_place(self, step: Step, row: Row, written: Row) -> bool:
        """Whether a row may be overwritten by one that is made of it: the same bytes, and no other row needs them."""
        op = self.plan.op(step)
        positions = [p for p, t in enumerate(op.inputs) if t == row[0]]
        if not set(positions) <= set(step.kernel.in_place) or self._span(row) != self._span(written):
            return False
        for position in positions:
            for y in range(step.rows.lo, step.rows.hi):
                rows = op.reads(self.graph, position, y)
                if y != written[1] and (rows is None or row[1] in rows):
                    return False
        return True

    def _ends(self, i: int, step: Step) -> tuple[bool, bool]:
        """Whether this is the first and the last step of an operator that keeps sums."""
        if step.tap is None:
            return True, True
        mine = [n for n, s in enumerate(self.plan.steps) if s.ops == step.ops]
        return mine[0] == i, mine[-1] == i

    def _add(self, step: Step, rows: dict[Row, Bytes]) -> dict[Row, Bytes]:
        """All rows that were added up to now. A tap counts once."""
        added = self.taps.setdefault(step.ops, {})
        for (_, y), data in rows.items():
            if y in added:
                raise CorruptError(f"row {y} is added twice")
            added[y] = data
        return {(self.plan.op(step).inputs[0], y): data for y, data in added.items()}

    def _token(self, step: Step) -> Bytes:
        """What stands for the sums of an operator after so many taps."""
        seed = [self.plan.op(step).outputs[0], len(self.taps[step.ops])]
        return np.random.default_rng(seed).integers(0, 256, step.kernel.sums, np.uint8)

    def _span(self, row: Row) -> Span:
        t, y = row
        count = self._count(t)
        buffer, nbytes = self.plan.place[t], self.want[t].nbytes // count
        if count == len(buffer.offsets):
            offset = buffer.offsets[y]
        else:
            base = _base(buffer)
            offset = None if base is None else base + y * nbytes
        if offset is None:
            raise CorruptError(f"row {y} of tensor {t} has no place")
        return Span(buffer.memory, offset, offset + nbytes)

    def _wanted(self, row: Row) -> Bytes:
        t, y = row
        nbytes = self.want[t].nbytes // self._count(t)
        return self.want[t][y * nbytes : (y + 1) * nbytes]

    def _at(self, span: Span) -> Bytes:
        memory = self.memories[span.memory]
        if not 0 <= span.lo <= span.hi <= memory.size:
            raise CorruptError(f"{span} lies outside of the arena")
        return memory[span.lo : span.hi]

    def _write(self, row: Row) -> None:
        self._at(self._span(row))[:] = self._wanted(row)

    def _check(self, row: Row, data: Bytes) -> None:
        if not np.array_equal(data, self._wanted(row)):
            raise CorruptError(f"row {row[1]} of tensor {row[0]} is not intact")

    def _spoil(self, span: Span | None) -> None:
        if span is not None:
            self._at(span)[:] = self._noise(span.hi - span.lo)

    def _last_readers(self) -> dict[int, list[tuple[int, int]]]:
        """After which step which rows of which buffers are read no more (-1: by nobody at all)."""
        number = {t: b for b, buffer in enumerate(self.plan.buffers) for t in buffer.tensors}
        last = {(number[t], r): -1 for t in self.graph.inputs for r in range(len(self.plan.place[t].offsets))}
        for i, step in enumerate(self.plan.steps):
            for t, y in [] if isinstance(self.plan.op(step), Arrival) else self._reads(step):
                count, rows = self._count(t), len(self.plan.place[t].offsets)
                for r in range(y * rows // count, -(-(y + 1) * rows // count)):
                    last[number[t], r] = i
        kept = {number[t] for t in self.graph.outputs}
        found: dict[int, list[tuple[int, int]]] = {}
        for (b, r), i in last.items():
            if b not in kept:
                found.setdefault(i, []).append((b, r))
        return found

    def _bury(self, i: int) -> None:
        """Noise over the rows that step i read last."""
        for b, r in self.last.get(i, []):
            buffer = self.plan.buffers[b]
            if (offset := buffer.offsets[r]) is not None:
                self._spoil(Span(buffer.memory, offset, offset + buffer.row_bytes))

    def _check_strips(self, step: Step) -> None:
        """A kernel that is called for all of its tensors is told where they begin."""
        if step.whole and step.tap is None:
            op = self.plan.op(step)
            for t in (*op.inputs, *op.outputs):
                if t in self.plan.place:
                    self._check_strip(t)
        for position in step.kernel.together:
            t = self.plan.op(step).inputs[position]
            if t in self.plan.place:
                self._check_strip(t)

    def _check_strip(self, tensor: int) -> None:
        """Rows lie one after another, unless nobody needs one of them: what is computed is padding alone then."""
        buffer = self.plan.place[tensor]
        if _base(buffer) is None and any(o is not None for o in buffer.offsets):
            raise CorruptError(f"the rows of tensor {tensor} do not lie one after another")

    def _check_layouts(self, step: Step) -> None:
        layouts = {t: buffer.layout for t, buffer in self.plan.place.items()}
        op = self.plan.op(step)
        for position, t in enumerate(op.inputs):
            if layouts.get(t, Layout.NHWC) != (step.kernel.reads if position == 0 else Layout.NHWC):
                raise CorruptError(f"the kernel does not read tensor {t} in its layout")
        if any(layouts[t] != (Layout.NHWC if k else step.kernel.writes) for k, t in enumerate(op.outputs)):
            raise CorruptError("the kernel writes another layout")

    def _all_rows(self, tensor: int) -> list[Row]:
        return [(tensor, y) for y in range(self._count(tensor))]

    def _count(self, tensor: int) -> int:
        return row_count(self.graph.tensors[tensor].shape)

    def _noise(self, nbytes: int) -> Bytes:
        return self.rng.integers(0, 256, nbytes, np.uint8)


def _evaluate(op: Op, graph: Graph, values: list[Array | None], lo: int, hi: int) -> list[Array]:
    """Rows lo..hi-1 of the first output of an operator, and all of the others; of a window operator only what one row
    needs is evaluated."""
    first = values[0]
    if isinstance(op, WindowOp) and hi == lo + 1 and first is not None:
        v, height, out = op.vertical, first.shape[1], op.output(graph)
        image, row = divmod(lo, out.shape[1])
        top = row * v.stride - v.before
        begin, end = max(top, 0), min(top + v.extent, height)
        if begin < end:
            part = first[image : image + 1, begin:end]
            op = replace(op, vertical=Axis(v.kernel, 1, v.dilation, begin - top, top + v.extent - end))
            smaller = (replace(op.input(graph), shape=part.shape), replace(out, shape=(1, 1, *out.shape[2:])))
            graph = replace(graph, tensors={**graph.tensors, **{t.id: t for t in smaller}})
            return [_rows(op.evaluate(graph, [part, *values[1:]])[0])]
    pairs = zip(op.outputs, op.evaluate(graph, values), strict=True)
    first_output, *others = (_rows(value.reshape(graph.tensors[t].shape)) for t, value in pairs)
    return [first_output[lo:hi], *others]


def _working(memory: int, offset: int | None, nbytes: int) -> Span | None:
    if offset is None:
        if nbytes:
            raise CorruptError("a kernel lacks its working memory")
        return None
    if offset % ALIGNMENT:
        raise CorruptError(f"working memory at {offset} is not aligned")
    return Span(memory, offset, offset + nbytes)


def _rows(values: Array) -> Array:
    count = row_count(values.shape)
    return values.reshape(count, *values.shape[-2 if len(values.shape) > 2 else 1 if len(values.shape) > 1 else 0 :])


def _flat(values: Array, layout: Layout) -> Bytes:
    return np.frombuffer(layout.store(values).tobytes(), np.uint8)


def _garbage(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    if dtype == DType.FLOAT32:
        return rng.uniform(-100, 100, shape).astype(np.float32)
    kind = dtype.numpy
    low, high = (0, 1) if dtype == DType.BOOL else (np.iinfo(kind).min, np.iinfo(kind).max)
    return rng.integers(low, high, shape, endpoint=True).astype(kind)


def _base(buffer: Buffer) -> int | None:
    """Where row 0 lies or would lie, if every row lies where that says."""
    found = {o - i * buffer.row_bytes for i, o in enumerate(buffer.offsets) if o is not None}
    return found.pop() if len(found) == 1 and min(found) >= 0 else None


def _check_aligned(buffer: Buffer) -> None:
    """Rows are found from a multiple of ALIGNMENT: each by itself, or the first one."""
    base = _base(buffer)
    offsets = [o for o in buffer.offsets if o is not None]
    if (base is None or base % ALIGNMENT) and any(o % ALIGNMENT for o in offsets):
        raise CorruptError(f"rows of {buffer.tensors} are not aligned")
