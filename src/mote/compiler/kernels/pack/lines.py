"""Fuses a chain of operators along the last axis into one kernel that calls their kernels line by line:
`mote_lines.h`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from mote.compiler.kernels.contract import (
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    Price,
    Refusal,
    View,
    aligned,
)
from mote.compiler.kernels.pack.elements import CTYPES
from mote.ir.graph import Graph, Op
from mote.ir.graph.rows import row_count
from mote.ir.ops.reductions.fused_last_axis import Lines

FEATURES = {
    **dict.fromkeys(("mean_lines", "mean_line_f32"), "input"),
    **dict.fromkeys(("squares_line", "squares_line_f32"), "tap"),
    **dict.fromkeys(("mul_line", "mul4", "mul", "mul_line_f32", "mul_f32"), "product"),
    **dict.fromkeys(("add_line", "add4", "add", "lut", "add_line_f32", "add_f32"), "output"),
}
"""Cost features that count the elements of steps, by the families of their kernels."""
REST, STEPS, WALKS = "rest", "pixel", "line"
"""Cost features of the elements of all other steps, of the steps of each line, and of those that broadcast."""


def lines_kernel(view: View, kernels: Sequence[Kernel], beats: tuple[str, ...] = ()) -> Packed | Refusal:
    """Packs the fused kernel; every step uses the first of `kernels` that fits and that no other one makes
    redundant."""
    inner = view.the(Lines).one()
    builder = _LinesBuilder(inner, CTYPES[view.input.dtype])
    ops = inner.ops
    while ops:
        fused = ((chain, _packed(View(inner, chain), kernels)) for chain in _chains(inner, ops))
        chain, packed = next(((chain, packed) for chain, packed in fused if packed is not None), (ops[:1], None))
        if packed is None:
            return Refusal(f"{ops[0].kind} has no kernel for one line")
        builder.add(chain, packed)
        ops = ops[len(chain) :]
    size = view.input.shape[-1]
    arguments = (builder.ctype, size, "; ".join(builder.fields), "; ".join(builder.calls))
    name = f"lines_{crc32(repr(arguments).encode()):08x}"
    count = view.output.size // size
    return Packed(
        name,
        builder.params,
        Entry(Call.FLAT, count),
        Needs(scratch=aligned(max(builder.top, 1) * view.input.dtype.itemsize), in_place=(0,)),
        Price(amounts={feature: float(n * count) for feature, n in builder.amounts.items()}),
        instances=(*builder.instances, Instance("MOTE_LINES", (name, *arguments), facts=builder.facts)),
        beats=beats,
    )


def _chains(graph: Graph, ops: tuple[Op, ...]) -> Iterator[tuple[Op, ...]]:
    """The next operators that one kernel may compute: two, if the second one alone reads what the first one writes, or
    one."""
    between = ops[0].outputs[0]
    if len(ops) > 1 and between not in graph.outputs and [op for op in graph.ops if between in op.inputs] == [ops[1]]:
        yield ops[:2]
    yield ops[:1]


def _packed(view: View, kernels: Sequence[Kernel]) -> Packed | None:
    """The kernel chosen for one step, which must not need scratch memory; None if there is none."""
    computing = [kernel for kernel in kernels if kernel.call is None and kernel.computed(view)]
    bound = [packed for kernel in computing if not isinstance(packed := kernel.bind(view), Refusal)]
    beaten = {name for packed in bound for name in packed.beats}
    return next((p for p in bound if p.family not in beaten and p.needs.scratch is None), None)


@dataclass
class _LinesBuilder:
    """Builder of the fused kernel: parameters, struct fields and calls of the steps so far."""

    graph: Graph
    ctype: str
    params: Params = field(default_factory=dict)
    fields: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    """C conditions that validate a model image: one for each call, and one for each constant operand."""
    instances: list[Instance] = field(default_factory=list)
    offsets: dict[int, int] = field(default_factory=dict)
    """Offset of each live intermediate tensor in the scratch memory, in elements."""
    top: int = 0
    amounts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Work of a line by cost feature."""

    def add(self, ops: tuple[Op, ...], packed: Packed) -> None:
        """Appends the call of a kernel that computes these operators."""
        op, last = ops[0], ops[-1]
        step = len(self.calls)
        self.params[f"s{step}"] = packed.params
        self.fields.append(f"mote_{packed.name}_t s{step}")
        self.instances += [i for i in packed.instances if i not in self.instances]
        self.amounts[STEPS] += 1
        self.amounts[WALKS] += packed.entry.call is Call.ROWS
        self.amounts[FEATURES.get(packed.family, REST)] += max(t.size for t in op.activations(self.graph))
        given = [self._operand(op, position, step) for position in packed.entry.operands]
        out = self._output(ops, packed)
        self.checks.append(self._check(op, last, packed, step))
        count = {Call.FLAT: f", {packed.entry.units}", Call.ROWS: f", 0, {row_count(last.output(self.graph).shape)}"}
        self.calls.append(
            f"mote_{packed.name}(&p->s{step}, {', '.join(given)}, {out}{count.get(packed.entry.call, '')})"
        )

    @property
    def facts(self) -> tuple[str | int, ...]:
        """Arguments of `MOTE_LINES_FITS`: elements of scratch memory, and the conditions to check."""
        return max(self.top, 1), " && ".join(self.checks)

    def _check(self, op: Op, last: Op, packed: Packed, step: int) -> str:
        """C condition that a step's parameters fit the sizes of its operands (at most two) and its output."""
        bytes_of = [op.input(self.graph, position).nbytes for position in packed.entry.operands]
        given = (*bytes_of, *(0,) * (2 - len(bytes_of)), last.output(self.graph).nbytes)
        asked = {Call.FLAT: packed.entry.units, Call.ROWS: row_count(last.output(self.graph).shape)}.get(
            packed.entry.call, 0
        )
        room = ", ".join(map(str, ("&step", "room", *given, asked)))
        return f"mote_{packed.name}_fits(&p->s{step}, mote_line_room({room}))"

    def _operand(self, op: Op, position: int, step: int) -> str:
        t = op.input(self.graph, position)
        if t.data is not None:
            name = f"c{step}_{position}"
            self.params[name] = t.data.reshape(-1)
            self.fields.append(f"const {self.ctype} *{name}")
            self.checks.append(f"mote_holds(room, p->{name}, {t.nbytes}, {t.dtype.itemsize})")
            return f"p->{name}"
        return "in" if t.id in self.graph.inputs else f"work + {self.offsets[t.id]}"

    def _output(self, ops: tuple[Op, ...], packed: Packed) -> str:
        """Allocates the output: in place of an operand that is not read again if the kernel allows it, otherwise in
        free scratch memory. Returns its C expression."""
        op, y = ops[0], ops[-1].output(self.graph)
        if y.id in self.graph.outputs:
            return "out"
        later = self.graph.ops[self.graph.ops.index(ops[-1]) + 1 :]
        live = {t for t in self.offsets if any(t in other.inputs for other in later)}
        over = (self.graph.tensors[op.inputs[position]] for position in packed.needs.in_place)
        free = [t for t in over if t.id in self.offsets and t.id not in live and t.size == y.size]
        kept = {t: self.offsets[t] for t in self.offsets if t in live or t in op.inputs}
        place = self.offsets[free[0].id] if free else self._room(y.size, kept)
        self.offsets = {**kept, y.id: place}
        self.top = max(self.top, place + y.size)
        return f"work + {place}"

    def _room(self, size: int, kept: dict[int, int]) -> int:
        """The lowest free offset for a tensor of `size` elements."""
        ends = sorted(aligned(place + self.graph.tensors[t].size) for t, place in kept.items())
        taken = [(place, place + self.graph.tensors[t].size) for t, place in kept.items()]
        return next(at for at in (0, *ends) if all(at + size <= lo or at >= hi for lo, hi in taken))
