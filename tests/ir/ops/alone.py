"""Operators that no other runtime judges, each in a graph of its own: their kernels, all in one C program (under the
sanitizers, or on an emulated core), against their NumPy reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mote.compiler.kernels.contract import Call
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.rows import row_count
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from tests.compiler.kernels.c_harness import Program
from tests.helpers.offered import offered


def alone(kind: type[Op], inputs: Sequence[Array], dtype: str | None = None, constant: int = 0, **fields: Any) -> Graph:
    """A graph of one operator. Its output has the first input's type, or another one; the last `constant` inputs are
    constants."""
    first = len(inputs) - constant
    tensors = {
        i: Tensor(i, f"x{i}", x.shape, DType(x.dtype.name), data=x if i >= first else None)
        for i, x in enumerate(inputs)
    }
    op = kind(inputs=tuple(tensors), outputs=(len(inputs),), name="it", index=0, **fields)
    (shape,) = op.shapes(Graph("alone", tensors, (), (), ()))
    out = Tensor(len(inputs), "y", shape, DType(dtype or inputs[0].dtype.name))
    graph = Graph("alone", {**tensors, out.id: out}, (op,), tuple(range(first)), (out.id,)).verify()
    assert (problem := op.unsupported(graph)) is None, problem
    return graph


@dataclass(frozen=True)
class Case:
    """A graph, its inputs, and how far results may be from the reference: in parts of it, and beside that."""

    graph: Graph
    inputs: Sequence[Array]
    relative: float = 0.0
    absolute: float = 0.0

    @property
    def op(self) -> Op:
        return self.graph.ops[0]

    def expected(self) -> Array:
        computed = dict(zip(self.graph.inputs, self.inputs, strict=False))
        return self.graph.evaluate(computed)[self.graph.outputs[0]]

    def call(self, program: Program) -> None:
        (kernel, *_) = offered(self.graph, self.op)
        y, params = self.op.output(self.graph), program.params(kernel)
        blocks = [program.block(self.inputs[p].nbytes, self.inputs[p]) for p in kernel.entry.operands]
        out = program.block(y.nbytes)
        how = {Call.FLAT: [kernel.entry.units], Call.ROWS: [0, row_count(y.shape)]}.get(kernel.entry.call, [])
        scratch = [] if kernel.needs.scratch is None else [program.block(max(kernel.needs.scratch, 1))]
        program.say(f"mote_{kernel.name}({', '.join(map(str, [params, *blocks, out, *how, *scratch]))});")
        program.write(out, y.nbytes)


def check_alone(cases: Sequence[Case], program: Program | None = None) -> None:
    """All of them in one program."""
    program = program or Program()
    for case in cases:
        case.call(program)
    raw = program.run()
    for case in cases:
        y, want = case.op.output(case.graph), case.expected()
        got, raw = np.frombuffer(raw[: y.nbytes], y.dtype.numpy).reshape(y.shape), raw[y.nbytes :]
        np.testing.assert_allclose(got, want, case.relative, case.absolute, err_msg=f"{case.op}: {case.inputs}")
    assert not raw
