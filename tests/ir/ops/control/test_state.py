"""Models that keep a state by themselves: variables, with LiteRT's reference kernels over many steps."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.bench.execute import reference
from mote.bench.execute.stimuli import stimuli
from mote.bench.measure.runner import bench
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from mote.compiler.passes.pipeline import optimize
from mote.compiler.plan.plan import Plan
from mote.frontends import tflite
from mote.frontends.tflite.writer import NO_TENSOR, Writer
from mote.hardware.toolchain import Mode
from mote.ir.graph.tensor import Array
from mote.ir.ops.control.state import Assign, SlidingWindow
from tests.helpers.flex import options
from tests.helpers.network import Net
from tests.helpers.streams import Variable, handle, sliding
from tests.helpers.support import check, emulated, examples, needs, needs_litert


def counter() -> bytes:
    """A state that is no window: s = s + x, read before and after."""
    net = Net(dtype="float32")
    x = net.input(1, 6)
    state = Variable(net, np.arange(6, dtype=np.float32).reshape(1, 6))
    old = state.read()
    state.assign(net.add(old, x))
    return net.finish(net.op("MUL", [state.read(), old]))


@needs_litert
@given(st.integers(0, 1 << 16), st.integers(1, 4), st.integers(1, 9), st.integers(1, 9), st.integers(1, 2))
@settings(max_examples=examples(15, 2), deadline=None)
def test_windows(seed: int, new: int, kept: int, channels: int, readers: int) -> None:
    """Two readers, of which one wants the window in one piece, keep it from becoming a ring buffer."""
    model = sliding(seed, new, kept, channels, readers)
    check_steps(model, 20)
    compiled = compile(model)
    assert verify(compiled, 20, sanitize=True).passed
    (state,) = compiled.plan.graph.states
    assert state.initial.shape == (1, kept + new, 1, channels)
    assert not any(isinstance(op, Assign) for op in compiled.plan.graph.ops)
    assert sum(isinstance(op, SlidingWindow) for op in compiled.plan.graph.ops) == 1


def check_steps(model: bytes, steps: int) -> None:
    """NumPy, before and after the passes, against LiteRT, step by step."""
    graph = tflite.parse(model, "model")
    better, _ = optimize(graph)
    oracle, first, second = reference.litert(model), reference.numpy(graph), reference.numpy(better)
    for case in stimuli(graph, steps):
        want, *found = oracle(case), first(case), second(case)
        assert want is not None
        for values in found:
            assert values is not None
            for o in graph.outputs:
                np.testing.assert_array_equal(values[o], want[o])


@needs_litert
@pytest.mark.parametrize("target", ["host", "cortex-m4", "rv32imc"])
def test_a_state_that_is_no_window(target: str) -> None:
    check_steps(counter(), 10)
    compiled = compile(counter(), target=target if target == "host" else emulated(target))
    assert verify(compiled, 10).passed
    assert any(isinstance(op, Assign) for op in compiled.plan.graph.ops)


def one_variable(use: Callable[[Variable, int], int]) -> bytes:
    """A model whose output is what `use` makes of a variable that begins with ones, and of the input."""
    net = Net(dtype="float32")
    x = net.input(1, 4)
    return net.finish(use(Variable(net, np.ones((1, 4), np.float32)), x))


def added(state: Variable, x: int) -> int:
    return state.net.add(x, state.read())


def unknown_handle(state: Variable, x: int) -> int:
    return state.net.op("READ_VARIABLE", [x], (1, 4))


def never_initialized(state: Variable, x: int) -> int:
    return state.net.op("READ_VARIABLE", [handle(state.net.writer, "other")], (1, 4))


def another_shape(state: Variable, x: int) -> int:
    return state.net.add(x, state.read(1, 5))


def other_initialization(state: Variable, x: int) -> int:
    (once,) = state.net.writer._others
    value = once.const("c", np.ones((1, 4), np.float32))
    once.op("ADD", [value, value], [once.tensor("sum", (1, 4), "float32")])
    return added(state, x)


def nothing_assigned(state: Variable, x: int) -> int:
    state.net.writer.op("ASSIGN_VARIABLE", [state.handle], [])
    return added(state, x)


def absent_value_assigned(state: Variable, x: int) -> int:
    state.assign(NO_TENSOR)
    return added(state, x)


@needs_litert
def test_a_variable_that_never_changes_is_a_constant() -> None:
    compiled = check(one_variable(added))
    assert not compiled.plan.graph.states


def rings(plan: Plan) -> int:
    return len({b.ring for b in plan.buffers if b.ring is not None})


def test_rings_where_readers_take_rows() -> None:
    assert rings(compile(sliding(1, 1, 30, 32), target="cortex-m4").plan) == 1
    assert rings(compile(sliding(1, 1, 30, 32, readers=2), target="cortex-m4").plan) == 0


EXERCISE = """
#include <string.h>
#include "{name}.h"

/* Inputs 0..n-1, then what was saved after half of them and the other half again; then from the beginning. */
int exercise(const uint8_t *inputs, uint8_t *outputs, int n) {{
    static uint8_t saved[{upper}_STATE_BYTES];
    uint8_t *out = outputs;
    if ({name}_init() != MOTE_OK) return 1;
    for (int round = 0; round < 3; round++) {{
        if (round == 1 && {name}_restore(saved, sizeof saved) != MOTE_OK) return 3;
        if (round == 2 && {name}_reset() != MOTE_OK) return 4;
        for (int i = round == 1 ? n / 2 : 0; i < n; i++) {{
            if (round == 0 && i == n / 2 && {name}_save(saved, sizeof saved) != MOTE_OK) return 5;
            memcpy({name}_input(), inputs + i * {upper}_INPUT_BYTES, {upper}_INPUT_BYTES);
            if ({name}_run() != MOTE_OK) return 2;
            memcpy(out, {name}_output(), {upper}_OUTPUT_BYTES);
            out += {upper}_OUTPUT_BYTES;
        }}
    }}
    return 0;
}}
"""


def frames() -> bytes:
    """Operators that keep what the file has no variables for: a framer that is not filled, sums of frames, a delay."""
    w = Writer("frames")
    x, framed = w.input("input", (8,), "int16"), w.tensor("framed", (4, 6), "int16")
    ready, summed = w.tensor("ready", (), "bool"), w.tensor("summed", (8,), "int16")
    y = w.tensor("output", (8,), "int16")
    steps = (
        ("SignalFramer", x, [framed, ready], {"frame_size": 6, "frame_step": 2, "prefill": False}),
        ("SignalOverlapAdd", framed, [summed], {"T": 7, "frame_step": 2}),
        ("SignalDelay", summed, [y], {"delay_length": 3}),
    )
    for name, given_, results, values in steps:
        w.op("CUSTOM", [given_], results, custom_code=name, custom_options=options(**values))
    w.output(y)
    return w.finish()


@pytest.mark.parametrize(("data", "dtype"), [(sliding(3, 1, 7, 8), np.int8), (frames(), np.int16)])
def test_save_restore_and_reset(data: bytes, dtype: type[np.integer[Any]], tmp_path: Path) -> None:
    import ctypes
    import subprocess

    needs("cc")
    compiled = compile(data, name="model")
    compiled.write(tmp_path)
    (tmp_path / "exercise.c").write_text(EXERCISE.format(name="model", upper="MODEL"))
    library = tmp_path / "model.so"
    command = ["cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", str(library)]
    subprocess.run([*command, "model.c", "exercise.c"], cwd=tmp_path, check=True)
    n, size = 12, 8
    inputs = np.random.default_rng(0).integers(-128, 128, (n, size)).astype(dtype)
    outputs = np.zeros((n + n // 2 + n, size), dtype)
    pointers = (x.ctypes.data_as(ctypes.c_void_p) for x in (inputs, outputs))
    assert ctypes.CDLL(str(library)).exercise(*pointers, n) == 0
    np.testing.assert_array_equal(outputs[n : n + n // 2], outputs[n // 2 : n])
    np.testing.assert_array_equal(outputs[n + n // 2 :], outputs[:n])
    assert len(np.unique(outputs[:n], axis=0)) > n // 2


def test_what_is_kept_is_counted_as_ram() -> None:
    plan = compile(sliding(3, 1, 7, 8)).plan
    assert plan.kept_bytes >= 64 and plan.static >= plan.kept_bytes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (unknown_handle, "does not come from VAR_HANDLE"),
        (never_initialized, "'other' is read before it was assigned"),
        (another_shape, r"begins as float32 \(1, 4\), it is read as float32 \(1, 5\)"),
        (other_initialization, "it runs ADD; only constants"),
        (nothing_assigned, "ASSIGN_VARIABLE has operands that its operator does not take"),
        (absent_value_assigned, "ASSIGN_VARIABLE has operands that its operator does not take"),
    ],
)
def test_bad_uses_of_variables_are_refused(change: Callable[[Variable, int], int], message: str) -> None:
    with pytest.raises(MoteError, match=message):
        compile(one_variable(change))


WAKE_WORDS = ("alexa", "hey_jarvis", "hey_mycroft", "okay_nabu")
STEPS = 300


def wake_word(name: str) -> Path:
    """A model of the pymicro-wakeword package."""
    package = find_spec("pymicro_wakeword")
    if package is None or package.origin is None:
        pytest.skip("pymicro-wakeword is not installed")
    return Path(package.origin).parent / "models" / f"{name}.tflite"


def sounds(compiled: Compiled, steps: int) -> list[Array]:
    """Structured input: bands that rise and fall at different speeds, louder and softer, with noise."""
    graph = compiled.plan.graph
    shape = graph.tensors[graph.inputs[0]].shape
    rng = np.random.default_rng(5)
    found = []
    for step in range(steps):
        time = step * shape[1] + np.arange(shape[1])[:, None]
        loud = 30 + 30 * (step // 25 % 4)
        bands = np.sin(time * (0.03 + 0.017 * np.arange(shape[2]))) * loud + rng.normal(0, 20, shape[1:])
        found.append(np.clip(bands[None] + 40 * (step // 100) - 80, -128, 127).astype(np.int8))
    return found


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("name", WAKE_WORDS)
@pytest.mark.parametrize("target", ["host", "cortex-m4"])
def test_wake_words_over_hundreds_of_steps(name: str, target: str, tmp_path: Path) -> None:
    """The outputs, which for such sounds are mostly 0, and the numbers that they are made from."""
    path = wake_word(name)
    compiled = compile(path, target=target if target == "host" else emulated(target))
    cases = sounds(compiled, STEPS)
    run = bench(compiled, tmp_path).execute(Mode.DUMP, [[case.tobytes()] for case in cases])
    dense, op = next((i, op) for i, (op, _) in enumerate(compiled.plan.works) if op.kind == "FULLY_CONNECTED")
    oracle, source = reference.litert(path.read_bytes()), compiled.source
    said = set()
    for case, (raw,), dump in zip(cases, run.outputs, run.dumps, strict=True):
        want = oracle({source.inputs[0]: case})
        assert want is not None
        said.add(dump[dense])
        assert raw == want[source.outputs[0]].tobytes()
        assert dump[dense] == want[op.outputs[0]].tobytes()
    assert len(said) > 10, "these inputs say nothing"


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("name", WAKE_WORDS)
def test_every_tensor_of_the_wake_words(name: str) -> None:
    assert verify(compile(wake_word(name)), 12, sanitize=True).passed
