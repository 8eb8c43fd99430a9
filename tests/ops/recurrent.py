"""What the tests of operators with states share: every step of NumPy and of the C kernel against LiteRT."""

from __future__ import annotations

import numpy as np
from c_harness import Program, call_over_time, random

from mote.api.verifier import FLOAT_TOLERANCE
from mote.frontends import tflite
from mote.graph import Graph
from mote.graph.tensor import DTYPES, Array
from mote.plan.kernel import Lowering

PORTABLE, DSP = Lowering(), Lowering(frozenset({"dsp"}))
Step = dict[int, Array]
"""Values of the model's inputs, and after it of the tensors that are compared."""


def inputs_over_time(g: Graph, steps: int, seed: int) -> list[Step]:
    rng = np.random.default_rng(seed)
    return [{i: random(rng, g.tensors[i].shape, g.tensors[i].dtype) for i in g.inputs} for _ in range(steps)]


def litert_over_time(model: bytes, g: Graph, steps: list[Step], reset: int) -> list[Step]:
    """What LiteRT computes; before step `reset` its variables are set back."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_content=model,
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    interpreter.allocate_tensors()
    found = []
    for number, step in enumerate(steps):
        if number == reset:
            interpreter.reset_all_variables()
        for i, value in step.items():
            interpreter.set_tensor(i, value)
        interpreter.invoke()
        computed = [out for op in g.ops for out in op.outputs]
        found.append({out: np.asarray(interpreter.get_tensor(g.tensors[out].source)) for out in computed})
    return found


def numpy_over_time(g: Graph, steps: list[Step], reset: int) -> list[Step]:
    found: list[Step] = []
    for number, step in enumerate(steps):
        states = {} if number in (0, reset) else g.carried(found[-1])
        found.append(g.evaluate(step | states))
    return found


def c_over_time(g: Graph, steps: list[Step], program: Program, how: Lowering) -> list[Step]:
    """The kernels of a graph whose operators do not feed each other."""
    for op in g.ops:
        call_over_time(program, g, op, op.lower(g, how), steps)
    raw, at = program.run(), 0
    found: list[Step] = [{} for _ in steps]
    for op in g.ops:
        for step in found:
            for out in op.outputs:
                t = g.tensors[out]
                step[out] = np.frombuffer(raw, DTYPES[t.dtype], t.size, at).reshape(t.shape)
                at += t.nbytes
    return found


def check_over_time(
    model: bytes, steps: int, *, seed: int = 0, program: Program | None = None, how: Lowering = PORTABLE
) -> Graph:
    """LiteRT, NumPy and the C kernels (under the sanitizers, unless there is another program to run), step by step."""
    g = tflite.parse(model, "model")
    given = inputs_over_time(g, steps, seed)
    reset = steps // 2
    want = litert_over_time(model, g, given, reset)
    _equal(g, numpy_over_time(g, given, reset), want, "NumPy")
    _equal(g, c_over_time(g, given[:reset], program or Program(), how), want[:reset], "C")
    return g


def _equal(g: Graph, got: list[Step], want: list[Step], who: str) -> None:
    for number, (mine, theirs) in enumerate(zip(got, want, strict=True)):
        for out, value in theirs.items():
            where = f"{g.producers[out].kind} '{g.tensors[out].name}' at step {number}"
            assert _same(mine[out], value.reshape(mine[out].shape)), f"{where}: {who} differs from LiteRT"


def _same(got: Array, want: Array) -> bool:
    """Bit for bit, or nearly so for floats: errors come from numbers around one, whatever they end up in."""
    if got.dtype != np.float32:
        return np.array_equal(got, want)
    return bool(np.abs(got - want).max() <= FLOAT_TOLERANCE * max(1.0, float(np.abs(want).max())))
