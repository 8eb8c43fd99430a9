"""Floating point: Mote adds up in the reference's order, and is as near as LiteRT's own fast kernels."""

from __future__ import annotations

import numpy as np
import pytest

import mlperf_tiny
from mote.base.files import temporary_folder
from mote.bench.execute.stimuli import stimuli
from mote.bench.measure.runner import bench
from mote.compiler.line import compile
from mote.hardware.toolchain import Mode
from tests.helpers.support import needs_litert

pytestmark = needs_litert


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", ["ad", "kws"])
def test_not_ten_times_farther_than_the_fast_kernels_of_litert(name: str) -> None:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    model = mlperf_tiny.build(name, dtype="float32")
    compiled = compile(model)
    graph = compiled.plan.graph
    cases = stimuli(graph, 3)
    kinds = (OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    interpreters = [Interpreter(model_content=model, experimental_op_resolver_type=kind) for kind in kinds]
    for interpreter in interpreters:
        interpreter.allocate_tensors()
    with temporary_folder() as folder:
        raw = [[case[t].tobytes() for t in graph.inputs] for case in cases]
        outputs = bench(compiled, folder).execute(Mode.MEASURE, raw).outputs
    for case, (output,) in zip(cases, outputs, strict=True):
        found = []
        for interpreter in interpreters:
            for t, value in case.items():
                interpreter.set_tensor(t, value)
            interpreter.invoke()
            found.append(interpreter.get_tensor(graph.outputs[0]).reshape(-1))
        want, fast = found
        off = np.abs(np.frombuffer(output, np.float32) - want).max()
        assert off <= 10 * np.abs(fast - want).max() + 1e-6 * np.abs(want).max()
