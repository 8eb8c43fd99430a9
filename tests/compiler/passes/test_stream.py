"""`--stream`: the model for a stream gives what the windowed one gives, bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.bench.measure.run import run
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from mote.compiler.passes.pipeline import optimize
from mote.compiler.passes.streaming import stream
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.ops.common import Axis, WindowOp
from mote.ui.cli import main
from tests.helpers.network import Net
from tests.helpers.support import emulated, examples, needs_litert, varied


@st.composite
def nets(draw: st.DrawFn, dtype: str = "int8") -> tuple[bytes, int]:
    """A model over a window in time, and how many new elements it takes at once."""
    net = Net(draw(st.integers(0, 1 << 16)), dtype)
    width, channels = draw(st.sampled_from([(1, 8), (3, 4), (1, 5)]))
    size = draw(st.integers(14, 24))
    x = net.input(1, size, width, channels)
    stride = 1
    for _ in range(draw(st.integers(1, 3))):
        rows = net.shapes[x][1]
        kind = draw(st.sampled_from(["conv", "depthwise", "pool", "residual", "crop"]))
        if kind == "conv" and rows > 4:
            step = draw(st.sampled_from([1, 1, 2]))
            stride *= step
            kernel = (draw(st.integers(1, 4)), 1)
            x = net.conv(x, draw(st.sampled_from([4, 6])), kernel, stride=(step, 1), padding="VALID")
        elif kind == "depthwise" and rows > 6:
            kernel = (draw(st.integers(2, 3)), 1)
            x = net.depthwise(x, 1, kernel, dilation=(draw(st.sampled_from([1, 2])), 1), padding="VALID")
        elif kind == "pool" and rows > 4 and stride < 3:
            stride *= 2
            x = net.pool(x, (draw(st.integers(2, 3)), 1), "MAX_POOL_2D", stride=(2, 1))
        elif kind == "residual" and rows > 5:
            y = net.depthwise(x, 1, (3, 1), padding="VALID")
            x = net.add(net.slice(x, (0, draw(st.integers(0, 2)), 0, 0), net.shapes[y]), y)
        elif kind == "crop" and rows > 4:
            cut = draw(st.integers(1, 2))
            x = net.slice(x, (0, draw(st.integers(0, cut)), 0, 0), (1, rows - cut, width, net.shapes[x][3]))
    head = draw(st.sampled_from(["dense", "mean"]))
    y = net.fully_connected(net.flat(x), 3) if head == "dense" else net.mean(x)
    return net.finish(y), stride * draw(st.integers(1, 2))


def streams(graph: Graph, count: int, seed: int = 0) -> Array:
    """`count` elements of a stream along axis 1 of the input."""
    t = graph.tensors[graph.inputs[0]]
    rng = np.random.default_rng(seed)
    shape = (1, count, *t.shape[2:])
    if t.dtype == "float32":
        return rng.uniform(-1, 1, shape).astype(np.float32)
    return rng.integers(-128, 128, shape).astype(np.int8)


def outputs(streamed: Graph, x: Array) -> list[list[Array]]:
    """What a model for a stream says after each piece of it."""
    t = streamed.inputs[0]
    hop = streamed.tensors[t].shape[1]
    found, carried = [], {}
    for at in range(0, x.shape[1] - hop + 1, hop):
        values = streamed.evaluate({t: x[:, at : at + hop], **carried})
        carried = streamed.carried(values)
        found.append([values[o] for o in streamed.outputs])
    return found


def can_stream(graph: Graph, hop: int) -> Graph | None:
    try:
        return stream.run(graph, 1, hop)
    except MoteError as error:
        assert "no layer with weights follows" in str(error)
        return None


@given(nets())
@settings(max_examples=examples(60), deadline=None)
def test_numpy_equals_the_windowed_model(case: tuple[bytes, int]) -> None:
    model, hop = case
    graph, _ = optimize(tflite.parse(model, "model"))
    streamed = can_stream(graph, hop)
    assume(streamed is not None)
    assert streamed is not None
    size = graph.tensors[graph.inputs[0]].shape[1]
    x = streams(graph, size + 7 * hop)
    for n, got in enumerate(outputs(streamed, x)):
        end = (n + 1) * hop
        if n + 1 < streamed.warm_up:
            assert end < size
            continue
        want = graph.evaluate({graph.inputs[0]: x[:, end - size : end]})
        for o, value in zip(graph.outputs, got, strict=True):
            np.testing.assert_array_equal(value, want[o])


@needs_litert
@given(varied(nets()), st.sampled_from(["speed", "balanced", "size"]))
@settings(max_examples=examples(12, 2), deadline=None)
def test_the_generated_c_equals_litert_on_every_window(case: tuple[bytes, int], optimized: str) -> None:
    check_stream(*case, optimize=optimized)


@needs_litert
@given(nets("float32"))
@settings(max_examples=4, deadline=None)
def test_float32(case: tuple[bytes, int]) -> None:
    check_stream(*case)


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize(
    "options", [{"least_ram": True}, {"red_zones": True}, {"caller_arena": True}, {"input": "rows"}]
)
def test_other_ways_to_run(options: dict[str, object]) -> None:
    check_stream(wake_word(), 2, **options)


def check_stream(model: bytes, hop: int, **options: object) -> Compiled | None:
    try:
        compiled = compile(model, stream=1, hop=hop, **options)
    except MoteError as error:
        assert "no layer with weights follows" in str(error)
        return None
    result = verify(compiled, 6, sanitize=True)
    assert result.passed, (result.mismatches, compiled.plan.graph.text())
    return compiled


def wake_word(seed: int = 1) -> bytes:
    """Depthwise layers over time with pointwise ones between, as streaming wake words are made."""
    net = Net(seed)
    x = net.input(1, 40, 1, 20)
    for kernel in (3, 5, 9):
        x = net.conv(net.depthwise(x, 1, (kernel, 1), padding="VALID"), 32, 1)
    return net.finish(net.fully_connected(net.flat(x), 3))


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0plus", "rv32imc"])
def test_on_cores(core: str) -> None:
    compiled = compile(wake_word(), target=emulated(core), stream=1)
    assert verify(compiled, 6).passed


def test_a_stream_takes_a_fraction_of_the_window() -> None:
    target = emulated("cortex-m4")
    whole = run(compile(wake_word(), target=target), layers=False).instructions
    piece = run(compile(wake_word(), target=target, stream=1), layers=False).instructions
    assert whole is not None and piece is not None and piece < whole / 5


def test_a_window_holds_what_came_and_what_was_there() -> None:
    graph = stream.run(optimize(tflite.parse(wake_word(), "model"))[0], 1)
    for state in graph.states:
        (op,) = [op for op in graph.ops if state.after in op.outputs]
        held, came = graph.ranges[state.after], graph.ranges[op.inputs[1]]
        first = state.initial.reshape(-1, state.initial.shape[-1])
        np.testing.assert_array_equal(held.low, np.minimum(came.low, first.min(axis=0)))
        np.testing.assert_array_equal(held.high, np.maximum(came.high, first.max(axis=0)))


@needs_litert
def test_nothing_is_kept_where_layers_take_one_element() -> None:
    """There is nothing to wait for, and every run is compared although the window is several runs long."""
    net = Net(2)
    compiled = compile(net.finish(net.conv(net.input(1, 6, 3, 2), 4, kernel=(1, 3))), stream=1)
    assert not compiled.plan.graph.states and compiled.plan.graph.warm_up == 0
    assert verify(compiled, 2, sanitize=True).passed


def test_the_axis_may_be_the_width() -> None:
    """Time along axis 2, as one-dimensional convolutions are often written."""
    net = Net(5)
    x = net.input(1, 3, 20, 4)
    y = net.conv(x, 6, (1, 3), padding="VALID")
    compiled = compile(net.finish(net.fully_connected(net.flat(y), 2)), stream=2)
    assert compiled.plan.graph.tensors[x].shape == (1, 3, 1, 4)
    assert verify(compiled, 6, sanitize=True).passed


def causal_windowed(graph: Graph) -> Graph:
    """The windowed model with all padding along axis 1 before the window."""

    def moved(op):  # type: ignore[no-untyped-def]
        if not isinstance(op, WindowOp) or not (op.vertical.before or op.vertical.after):
            return op
        a, size = op.vertical, op.input(graph).shape[1]
        out = -(-size // a.stride)
        return op.with_(vertical=Axis(a.kernel, a.stride, a.dilation, a.extent + (out - 1) * a.stride - size))

    return graph.with_ops(moved(op) for op in graph.ops).verify()


@pytest.mark.parametrize("stride", [1, 2])
def test_causal_padding_is_what_was_before_the_stream(stride: int) -> None:
    """From its beginning, over one window, the stream gives what a causal windowed model gives."""
    net = Net(3)
    x = net.input(1, 15, 2, 4)
    y = net.depthwise(net.conv(x, 6, (4, 1), stride=(stride, 1)), 1, (3, 1))
    graph, _ = optimize(tflite.parse(net.finish(net.fully_connected(net.flat(y), 3)), "model"))
    streamed = stream.run(graph, 1, causal=True)
    data = streams(graph, 15)
    silence = np.full((1, -15 % stride, 2, 4), graph.tensors[x].zero_point, np.int8)
    (got,) = outputs(streamed, np.concatenate([silence, data], 1))[-1]
    want = causal_windowed(graph).evaluate({x: data})[graph.outputs[0]]
    np.testing.assert_array_equal(got, want)


@needs_litert
def test_the_causal_c_is_verified() -> None:
    assert verify(compile(padded(), stream=1, causal=True), 6, sanitize=True).passed


def padded() -> bytes:
    net = Net(2)
    x = net.conv(net.input(1, 12, 1, 4), 5, (3, 1))
    return net.finish(net.fully_connected(net.flat(x), 2))


def test_padding_is_refused_by_name_and_the_causal_form_offered() -> None:
    with pytest.raises(MoteError) as error:
        compile(padded(), stream=1)
    assert "layer 0 CONV_2D 't1'" in str(error.value) and "pads 1 elements before and 1 after" in str(error.value)
    assert "--causal" in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stream": 7}, "has no axis 7"),
        ({"stream": 2}, "has one element"),
        ({"stream": 1, "hop": 99}, "do not fit a window of 40"),
        ({"stream": 3}, "no layer with weights follows"),
        ({"hop": 2}, "is for streams only"),
        ({"causal": True}, "is for streams only"),
    ],
)
def test_what_makes_no_stream_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(MoteError, match=message):
        compile(wake_word(), **options)


def test_a_hop_that_does_not_suit_the_strides_is_refused_with_one_that_does() -> None:
    net = Net(6)
    x = net.input(1, 21, 1, 4)
    for _ in range(2):
        x = net.conv(x, 4, (3, 1), stride=(2, 1), padding="VALID")
    model = net.finish(net.fully_connected(net.flat(x), 2))
    with pytest.raises(MoteError, match="give a multiple of 4"):
        compile(model, stream=1, hop=2)
    graph = compile(model, stream=1).plan.graph
    assert graph.tensors[graph.inputs[0]].shape[1] == 4


def test_a_model_with_states_is_no_window() -> None:
    graph = stream.run(optimize(tflite.parse(wake_word(), "model"))[0], 1)
    with pytest.raises(MoteError, match="keeps a state by itself"):
        stream.run(graph, 1)


@needs_litert
def test_a_stream_of_data_is_run_step_by_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`mote run --data` takes a whole stream, and writes what the model said after each piece of it."""
    model, stored, said = tmp_path / "wake.tflite", tmp_path / "stream.npy", tmp_path / "said.npz"
    model.write_bytes(wake_word())
    graph, _ = optimize(tflite.parse(wake_word(), "model"))
    data = streams(graph, 48)
    np.save(stored, data)
    assert main(["run", str(model), "--stream", "1", "--hop", "2", "--data", str(stored), "--output", str(said)]) == 0
    (found,) = dict(np.load(said)).values()
    assert len(found) == 24 and "output" in capsys.readouterr().out
    want = graph.evaluate({graph.inputs[0]: data[:, -40:]})[graph.outputs[0]]
    np.testing.assert_array_equal(found[-1], want)
    np.save(stored, data[:, :, :, :3])
    assert main(["run", str(model), "--stream", "1", "--data", str(stored)]) == 1
