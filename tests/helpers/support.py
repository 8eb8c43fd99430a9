"""What the tests share: check a model end to end against LiteRT."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.base.extras import version_of
from mote.base.files import temporary_folder
from mote.bench.evaluation.verify import verify
from mote.bench.execute import reference
from mote.bench.execute.stimuli import stimuli
from mote.bench.measure.runner import bench
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile, compile_graph
from mote.compiler.passes.pipeline import optimize
from mote.compiler.settings import make_settings
from mote.frontends import tflite
from mote.hardware import targets, toolchain
from mote.hardware.toolchain import Mode
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import compare

T = TypeVar("T")
Test = TypeVar("Test", bound=Callable[..., None])

needs_litert = pytest.mark.skipif(not reference.litert_installed(), reason="ai-edge-litert is not installed")

TRIED_MICRO = ("0.dev20261023182759",)
"""Nightly builds of TFLite Micro that the tests were tried with."""

ON_ARM = platform.machine() in ("aarch64", "arm64")
"""LiteRT built for Arm fuses products with sums, which rounds once where other machines round twice."""
exact_on_x86 = pytest.mark.skipif(
    ON_ARM, reason="ONNX Runtime's kernels for Arm round otherwise than those for x86 (docs/models/onnx-quantized.md)"
)
"""Tests of quantized operators that must be equal to ONNX Runtime bit for bit."""

PUBLIC_MODELS = Path(__file__).parents[3] / "shared" / "models"
"""Published models to measure against, where someone put them beside the checkout."""
PUBLIC_DATA = PUBLIC_MODELS.with_name("data")
"""Real data for them, likewise."""

HOST_DSP = str(Path(__file__).with_name("host-dsp.toml"))
"""The host as a target, compiled for as if it had DSP instructions."""
HOST_HELIUM = str(Path(__file__).with_name("host-helium.toml"))
"""The same with Helium."""

HOST_AVR = str(Path(__file__).with_name("host-avr.toml"))
"""The host as a target, with the kernels of AVR as their portable twins."""
HOST_FPU = str(Path(__file__).with_name("host-fpu.toml"))
"""The host as a target, compiled for as a core with a floating-point unit."""


@contextmanager
def tflite_micro() -> Iterator[Any]:
    """The runtime of TFLite Micro. The test is skipped where it is missing, and where another build than those that
    were tried gives other results."""
    if missing := reference.micro_missing():
        pytest.skip(f"{missing} (the tflite-micro wheel, for x86-64 only)")
    try:
        yield import_module("tflite_micro").runtime
    except Exception as error:
        version = version_of("tflite-micro")
        if version in TRIED_MICRO:
            raise
        tried = ", ".join(TRIED_MICRO)
        pytest.skip(f"tflite-micro {version} differs from {tried}, with which the tests were tried: {error}")


def needs(*programs: str) -> None:
    """The test is skipped where one of these is not installed, which is named."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


FUZZ = bool(os.environ.get("MOTE_FUZZ"))
"""`make fuzz` runs the tests."""


def examples(count: int, usual: int = 0) -> int:
    """How many examples a property is tried on that takes a C compiler: a third of it or the usual number in
    `make test`, where they are always the same, ten times as many in `make fuzz`, where they are new. The first is the
    simplest one that there is, unless they are `varied`."""
    return 10 * count if FUZZ else usual or max(2, count // 3)


def varied(strategy: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """Random examples from the first on, where Hypothesis would begin with the simplest one."""
    return st.tuples(st.integers(0, 1 << 16).filter(bool), strategy).map(lambda drawn: drawn[1])


def batch(strategy: st.SearchStrategy[T], count: int, usual: int) -> st.SearchStrategy[list[T]]:
    """So many varied examples at once, fewer of them in `make test`: one build serves them all."""
    size = count if FUZZ else usual
    return varied(st.lists(strategy, min_size=size, max_size=size))


def fuzzed(test: Test) -> Test:
    """A slow test of random cases: `make test-all` runs it, and `make fuzz` with more cases."""
    return test if FUZZ else pytest.mark.slow(test)


def soaked(cases: Iterable[Any], usual: Collection[Any]) -> list[Any]:
    """The parameters of a test, of which `make test` has the usual ones: the others are slow."""
    found = [(case, case if isinstance(case, tuple) else (case,)) for case in cases]
    return [pytest.param(*values, marks=() if case in usual else pytest.mark.slow) for case, values in found]


def emulated(core: str) -> str:
    """The core; the test is skipped where there is no compiler or emulator for it."""
    try:
        toolchain.find_compiler(targets.load(core))
        toolchain.find_emulator(targets.load(core))
    except MoteError as error:
        pytest.skip(str(error))
    return core


def exact_on(core: str, model: bytes, inputs: int = 3, **options: object) -> None:
    """Every tensor of `model` on an emulated core against LiteRT."""
    result = verify(compile(model, target=emulated(core), **options), inputs)
    assert result.passed, result.mismatches


def check(model: bytes, inputs: int = 3, seed: int = 0, **options: object) -> Compiled:
    """Every tensor of `model`: NumPy against LiteRT, then the generated C (sanitizers on) against LiteRT."""
    graph = tflite.parse(model, "model")
    check_numpy(graph, model, inputs, seed)
    compiled = compile(model, **options)
    result = verify(compiled, inputs, seed=seed, sanitize=True)
    assert result.passed, (result.mismatches, graph.text())
    return compiled


def check_numpy(graph: Graph, model: bytes, inputs: int = 3, seed: int = 0) -> None:
    """Every tensor that an operator makes: NumPy against LiteRT, or TFLite Micro, from one input to the next."""
    micro = reference.micro_only(graph)
    oracle = reference.micro(model, graph) if micro else reference.meaningful(reference.litert(model), graph)
    ours, magnitudes = reference.numpy(graph), reference.magnitudes(graph)
    for case in stimuli(graph, inputs, seed):
        want, known, sizes = oracle(case), ours(case), magnitudes(case)
        assert want is not None and known is not None
        for tensor, got in known.items():
            t = graph.tensors[tensor]
            if tensor not in graph.producers or t.inner:
                continue
            if graph.producers[tensor].bodies and t.source not in want:
                continue
            expected = t.part(want[t.source]).reshape(got.shape)
            diff, bad = compare(got, expected, sizes.get(tensor, 0.0))
            assert not bad, f"{graph.producers[tensor]}: NumPy differs from LiteRT by {diff} in {bad} elements"


def micro_agrees(model: bytes, inputs: int = 6, *, numerics: str = "litert") -> None:
    """The outputs of the NumPy reference against those of TFLite Micro: integers bit for bit, floats within what
    `mote.ir.graph.tolerance` allows."""
    graph = tflite.parse(model, "model")
    ours = optimize(graph, numerics=numerics)[0] if numerics == "tflm" else graph
    values, magnitudes = reference.numpy(ours), reference.magnitudes(ours)
    with tflite_micro() as runtime:
        interpreter = runtime.Interpreter.from_bytes(model)
        for case in stimuli(graph, inputs):
            for i, t in enumerate(graph.inputs):
                interpreter.set_input(case[t], i)
            interpreter.invoke()
            got, sizes = values(case), magnitudes(case)
            assert got is not None
            for i, t in enumerate(ours.outputs):
                diff, bad = compare(got[t], interpreter.get_output(i), sizes.get(t, 0.0))
                assert not bad, f"{bad} elements of output {i} differ, by up to {diff}: {graph.text()}"


def check_graph(graph: Graph, cases: Sequence[dict[int, Array]], target: str = "host", **options: Any) -> Compiled:
    """The outputs of a graph without a file: the generated C, on the host with sanitizers or on an emulated core,
    against NumPy, bit for bit, one inference after another."""
    compiled = compile_graph(graph, make_settings(target if target == "host" else emulated(target), **options))
    planned = compiled.plan.graph
    with temporary_folder() as folder:
        on = bench(compiled, folder, sanitize=target == "host")
        run = on.execute(Mode.DUMP, [[np.ascontiguousarray(case[t]).tobytes() for t in graph.inputs] for case in cases])
    ours = reference.numpy(graph)
    for case, outputs in zip(cases, run.outputs, strict=True):
        want = ours(case)
        assert want is not None
        for t, raw in zip(graph.outputs, outputs, strict=True):
            np.testing.assert_array_equal(np.frombuffer(raw, planned.tensors[t].dtype.numpy), want[t].reshape(-1))
    return compiled


def check_on(model: bytes, *cases: Sequence[Array], **options: object) -> None:
    """The outputs of `model` on inputs that may be infinite or no numbers: NumPy and the generated C (sanitizers on)
    against LiteRT."""
    graph, oracle = tflite.parse(model, "model"), reference.litert(model)
    with temporary_folder() as folder:
        on = bench(compile(model, **options), folder, sanitize=True)
        run = on.execute(Mode.DUMP, [[x.tobytes() for x in case] for case in cases])
    for case, outputs in zip(cases, run.outputs, strict=True):
        given = dict(zip(graph.inputs, case, strict=True))
        want, ours = oracle(given), graph.evaluate(given)
        for t, raw in zip(graph.outputs, outputs, strict=True):
            for got in (ours[t], np.frombuffer(raw, ours[t].dtype).reshape(ours[t].shape)):
                np.testing.assert_allclose(got, want[t].reshape(got.shape), rtol=1e-5 * (got.dtype == np.float32))
