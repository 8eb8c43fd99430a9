"""What the tests of operators with states share: every step of NumPy and of the C kernel against LiteRT."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mote.bench.execute.reference import micro_only
from mote.compiler.passes.folding import fold_constants
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import Magnitudes, compare
from tests.compiler.kernels.c_harness import Program, call_over_time, random
from tests.helpers.offered import PORTABLE, offered

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


def c_over_time(g: Graph, steps: list[Step], program: Program, features: frozenset[str]) -> list[Step]:
    """The kernels of a graph whose operators do not feed each other."""
    program.sums_wrap = g.sums_wrap
    constants = {i: t.data for i, t in g.tensors.items() if t.data is not None}
    known = [constants | step for step in steps]
    for op in g.ops:
        call_over_time(program, g, op, offered(g, op, features)[0], known)
    raw, at = program.run(), 0
    found: list[Step] = [{} for _ in steps]
    for op in g.ops:
        for step in found:
            for out in op.outputs:
                t = g.tensors[out]
                step[out] = np.frombuffer(raw, t.dtype.numpy, t.size, at).reshape(t.shape)
                at += t.nbytes
    return found


def check_over_time(
    model: bytes, steps: int, *, seed: int = 0, program: Program | None = None, features: frozenset[str] = PORTABLE
) -> Graph:
    """LiteRT (unless TFLite Micro alone knows the operators), NumPy and the C kernels (under the sanitizers, unless
    there is another program to run), step by step."""
    g = fold_constants.run(tflite.parse(model, "model"))
    given = inputs_over_time(g, steps, seed)
    reset = steps // 2
    numpy = numpy_over_time(g, given, reset)
    known = [{out: step[out] for op in g.ops for out in op.outputs} for step in numpy]
    want = known if micro_only(g) else litert_over_time(model, g, given, reset)
    sizes = magnitudes_over_time(g, numpy, reset)
    _equal(g, numpy, want, sizes, "NumPy")
    _equal(g, c_over_time(g, given[:reset], program or Program(), features), want[:reset], sizes[:reset], "C")
    return g


def magnitudes_over_time(g: Graph, values: list[Step], reset: int) -> list[Mapping[int, float]]:
    before, after = Magnitudes(g), Magnitudes(g)
    return [(before if number < reset else after).step(step) for number, step in enumerate(values)]


def _equal(g: Graph, got: list[Step], want: list[Step], sizes: list[Mapping[int, float]], who: str) -> None:
    for number, (mine, theirs, size) in enumerate(zip(got, want, sizes, strict=True)):
        for out, value in theirs.items():
            where = f"{g.producers[out].kind} '{g.tensors[out].name}' at step {number}"
            diff, bad = compare(mine[out], value.reshape(mine[out].shape), size.get(out, 0.0))
            assert not bad, f"{where}: {who} differs from LiteRT by {diff} in {bad} elements"
