"""Winograd kernels against NumPy: their portable twins under the sanitizers, and the assembly on an emulated
Cortex-M4."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from mote.compiler.fitting.code_size import code_size
from mote.compiler.kernels.armv7em.gemm.winograd import FORMS, UNROLLED
from mote.compiler.kernels.armv7em.gemm.winograd_assembly import MOST_PAIRS
from mote.compiler.kernels.contract import Packed, Structs
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import rescale
from mote.ir.graph.tensor import Array
from mote.ir.ops.common import channel_scales
from mote.ir.ops.windows.conv import Conv2D
from tests.compiler.kernels.c_harness import Program, rows_of
from tests.helpers.network import Net
from tests.helpers.offered import DSP, named, offered
from tests.helpers.support import HOST_DSP, emulated, examples

WEIGHTS = ("random", "random", "small", "lowest", "highest", "extremes", "zero", "sparse")
CHANNELS = (4, 8, 12, 16, 20, 24, 32, 36)


@dataclass(frozen=True)
class Layer:
    size: tuple[int, int] = (8, 8)
    channels: int = 4
    outputs: int = 2
    stride: int = 1
    padding: str = "SAME"
    batch: int = 1
    weights: str = "random"
    inputs: str = "random"
    bias: int = 2000
    zeros: tuple[int, int] = (3, -128)
    gain: float = 1.0
    spread: float = 1.0
    """How different the channels' scales are: up to 2^spread."""
    seed: int = 0

    def spatial(self) -> tuple[int, int]:
        if self.padding == "SAME":
            high, wide = (-(-n // self.stride) for n in self.size)
        else:
            high, wide = ((n - 3) // self.stride + 1 for n in self.size)
        return high, wide


def graph(c: Layer) -> Graph:
    rng = np.random.default_rng(c.seed)
    shape = (c.outputs, 3, 3, c.channels)
    values = {
        "random": rng.integers(-128, 128, shape),
        "small": rng.integers(-9, 10, shape),
        "lowest": np.full(shape, -128),
        "highest": np.full(shape, 127),
        "extremes": rng.choice([-128, -127, 127], shape),
        "zero": np.zeros(shape),
        "sparse": rng.integers(-128, 128, shape) * (rng.random(c.outputs) < 0.5)[:, None, None, None],
    }[c.weights]
    scale = (0.01 * 2 ** -rng.uniform(0, c.spread, c.outputs)).astype(np.float32)
    w = Writer("layer")
    x = w.input("x", (c.batch, *c.size, c.channels), "int8", scale=0.05, zero_point=c.zeros[0])
    k = w.const("k", values.astype(np.int8), scale=scale, axis=0)
    bias = rng.integers(-c.bias, c.bias + 1, c.outputs).astype(np.int32)
    b = w.const("b", bias, scale=scale * np.float32(0.05))
    out = float(0.05 * 0.01 * 80 * (9 * c.channels) ** 0.5 * c.gain)
    y = w.tensor("y", (c.batch, *c.spatial(), c.outputs), "int8", scale=out, zero_point=c.zeros[1])
    options = {"padding": c.padding, "dilation_h_factor": 1, "dilation_w_factor": 1}
    options |= {"stride_h": c.stride, "stride_w": c.stride}
    activation = "RELU" if c.zeros[1] == -128 else "NONE"
    w.op("CONV_2D", [x, k, b], [y], fused_activation_function=activation, **options)
    w.output(y)
    return tflite.parse(w.finish(), "layer")


def inputs(c: Layer) -> Array:
    rng = np.random.default_rng(c.seed + 1)
    shape = (c.batch, *c.size, c.channels)
    values = {
        "random": rng.integers(-128, 128, shape),
        "lowest": np.full(shape, -128),
        "highest": np.full(shape, 127),
        "extremes": rng.choice([-128, 127], shape),
    }[c.inputs]
    return values.astype(np.int8)


def layer_and_kernel(
    c: Layer, form: str, shift: int | None = None, *, way: str = ""
) -> tuple[Graph, Conv2D, Packed | None]:
    """A layer and its kernel of a form; `way`: the end of the kernel's name."""
    g = graph(c)
    (op,) = g.ops
    assert isinstance(op, Conv2D)
    fixed = {} if shift is None else {"shift": shift}
    return g, op, named(FORMS[form].header.removesuffix("_s8") + way, g, op, **fixed)


def way_of(c: Layer, form: str) -> str:
    """Every other layer is computed by code for its channels, where there is such code."""
    return UNROLLED if c.seed % 2 and c.channels <= 2 * MOST_PAIRS and FORMS[form].keep else ""


def called(program: Program, c: Layer, form: str, by_rows: bool, group: int = 99, timed: bool = False) -> Array | None:
    """The layer, called as a whole or by groups of rows, each row in a block of its own; gives what is expected, None
    where there is no kernel."""
    g, op, kernel = layer_and_kernel(c, form, way=way_of(c, form))
    if kernel is None:
        return None
    x = inputs(c)
    (want,) = op.evaluate(g, [x, *(g.tensors[i].data for i in op.inputs[1:])])
    params, scratch = program.params(kernel), program.block(kernel.needs.scratch or 0)
    count, nbytes = want.shape[0] * want.shape[1], want[0, 0].nbytes
    if not by_rows:
        given, out = program.block(x.nbytes, x), program.block(want.nbytes)
        call = f"mote_{kernel.name}({params}, {given}, {out}, 0, {count}, {scratch});"
        (program.time if timed else program.say)(call)
        program.write(out, want.nbytes)
        return want
    given_rows = [program.block(row.nbytes, row) for row in rows_of(x)]
    out_rows = [program.block(nbytes) for _ in range(count)]
    for lo, hi in groups(want.shape[0], want.shape[1], min(group, 16, FORMS[form].size * 4)):
        image, row = divmod(lo, want.shape[1])
        under = range(row * c.stride - op.vertical.before, (row + hi - lo - 1) * c.stride - op.vertical.before + 3)
        pointers = [given_rows[image * c.size[0] + r] if 0 <= r < c.size[0] else "NULL" for r in under]
        several = f"mote_{kernel.name}_rows({params}, rows, outs, {hi - lo}, {scratch});"
        program.say(
            f"{{ const int8_t *const rows[] = {{{', '.join(pointers)}}};",
            f"int8_t *const outs[] = {{{', '.join(out_rows[lo:hi])}}};",
            f"mote_{kernel.entry.row}({params}, rows, outs[0], {scratch}); }}" if group == 1 else f"{several} }}",
        )
    for out in out_rows:
        program.write(out, nbytes)
    return want


def groups(images: int, rows: int, group: int) -> Iterator[tuple[int, int]]:
    for image in range(images):
        for lo in range(0, rows, group):
            yield image * rows + lo, image * rows + min(lo + group, rows)


@st.composite
def layers(draw: st.DrawFn, form: str) -> Layer:
    padding = draw(st.sampled_from(["SAME", "SAME", "VALID"]))
    least = 3 if padding == "VALID" else 1
    return Layer(
        size=(draw(st.integers(least, 20)), draw(st.integers(least, 20))),
        channels=draw(st.sampled_from(CHANNELS if FORMS[form].stride == 2 else [3, 7, *CHANNELS])),
        outputs=draw(st.sampled_from([2, 4, 6])),
        stride=FORMS[form].stride,
        padding=padding,
        batch=draw(st.sampled_from([1, 1, 1, 2])),
        weights=draw(st.sampled_from(WEIGHTS)),
        inputs=draw(st.sampled_from(["random", "random", "lowest", "highest", "extremes"])),
        bias=draw(st.sampled_from([0, 2000, 100000])),
        zeros=(draw(st.integers(-128, 127)), draw(st.sampled_from([-128, -128, -5, 0, 127]))),
        gain=draw(st.sampled_from([0.02, 0.3, 1.0, 4.0])),
        spread=draw(st.sampled_from([0.0, 1.0, 4.0])),
        seed=draw(st.integers(0, 1 << 30)),
    )


def check(program: Program, some: list[Layer], form: str, by_rows: bool, group: int = 99) -> int:
    wanted = [want for c in some if (want := called(program, c, form, by_rows, group)) is not None]
    if wanted:
        got = np.frombuffer(program.run(), np.int8)
        want = np.concatenate([w.reshape(-1) for w in wanted])
        assert len(got) == len(want)
        assert np.array_equal(got, want), (some, np.flatnonzero(got != want)[:20])
    return len(wanted)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
@settings(max_examples=examples(4), deadline=None, suppress_health_check=list(HealthCheck))
def test_twins_equal_numpy(form: str, data: st.DataObject) -> None:
    some = data.draw(st.lists(layers(form), min_size=12, max_size=12))
    check(Program(), some, form, data.draw(st.booleans()), data.draw(st.sampled_from([1, 3, 99])))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
@settings(max_examples=examples(6), deadline=None, suppress_health_check=list(HealthCheck))
def test_assembly_equals_numpy(form: str, data: st.DataObject) -> None:
    some = data.draw(st.lists(layers(form), min_size=12, max_size=12))
    check(Program(emulated("cortex-m4")), some, form, data.draw(st.booleans()), data.draw(st.sampled_from([1, 3, 99])))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("form", [form for form in FORMS if FORMS[form].keep])
def test_code_for_a_number_of_channels(form: str) -> None:
    """Of every number that there is code for."""
    numbers = [3, *range(4, 2 * MOST_PAIRS + 1, 4)]
    some = [Layer((5, 9), n, 4, FORMS[form].stride, weights="small", seed=2 * n + 1) for n in numbers]
    assert check(Program(emulated("cortex-m4")), some, form, by_rows=False) == len(some)
    more = layer_and_kernel(replace(some[0], channels=2 * MOST_PAIRS + 4), form, way=UNROLLED)[2]
    assert more is None


@pytest.mark.parametrize("form", FORMS)
def test_shapes_without_a_kernel(form: str) -> None:
    stride = FORMS[form].stride
    assert layer_and_kernel(Layer(stride=stride), form)[2] is not None
    for c in (Layer(stride=3 - stride), Layer(channels=5, stride=stride), Layer(outputs=3, stride=stride)):
        assert layer_and_kernel(c, form)[2] is None


def test_sums_that_do_not_fit_are_refused() -> None:
    """4x4: 576 times a sum must fit 32 bits; the largest sum is 9 * 127 * 255 for each channel."""
    for channels, fits in ((12, True), (16, False)):
        found = layer_and_kernel(Layer(channels=channels, weights="highest", gain=30.0, zeros=(-128, -128)), "4x4")[2]
        assert (found is not None) == fits


@pytest.mark.parametrize("form", FORMS)
def test_scales_above_one_are_refused(form: str) -> None:
    assert layer_and_kernel(Layer(gain=1e-4, bias=0, stride=FORMS[form].stride), form)[2] is None


@pytest.mark.parametrize(("after", "fits"), [(2, True), (3, False)])
def test_windows_that_begin_behind_the_image_are_refused(after: int, fits: bool) -> None:
    net = Net()
    padded = net.pad(net.input(1, 6, 8, 4), (0, 0), (1, 1), (1, after), (0, 0))
    model = net.finish(net.conv(padded, 4, padding="VALID", fused_activation_function="RELU", quant=(0.05, -128)))
    graph = compile(model, target=HOST_DSP, shrink=False).plan.graph
    assert len(graph.ops) == 1
    assert any("winograd" in k.name for k in offered(graph, graph.ops[0], DSP)) == fits


@pytest.mark.parametrize("form", FORMS)
def test_a_shift_can_be_asked_for(form: str) -> None:
    c = Layer(stride=FORMS[form].stride, spread=0.0)
    found = {s for s in range(5, 25) if (k := layer_and_kernel(c, form, s)[2]) and k.name.endswith(f"_{s}")}
    assert len(found) > 3


@given(layers("4x4"))
@settings(max_examples=examples(10), deadline=None, suppress_health_check=list(HealthCheck))
def test_every_sum_is_requantized_exactly(c: Layer) -> None:
    """4x4: the multipliers are rounded, so that the compiler has to check thresholds. Here all sums are checked, of an
    image that is large enough for whole windows."""
    g, op, kernel = layer_and_kernel(replace(c, channels=4, outputs=2, size=(8, 8)), "4x4")
    assume(kernel is not None)
    assert kernel is not None
    weights, channel = kernel.params["weights"], kernel.params["channel"]
    assert isinstance(weights, np.ndarray) and isinstance(channel, Structs)
    shift = int(kernel.name.rpartition("_")[2])
    w, b, x, y = (g.tensors[i] for i in (*op.inputs[1:], op.inputs[0], *op.outputs))
    assert w.data is not None and b.data is not None
    for i, (mult, add, fix) in enumerate(channel.rows):
        matrix = w.data[i].astype(np.int64)
        fold = int(b.data[i]) - x.zero_point * int(matrix.sum())
        low, high = (int(pick(-128 * matrix, 127 * matrix).sum()) + fold for pick in (np.minimum, np.maximum))
        first = int(weights[i])
        offset = (first - 576 * (fold - 128 * int(matrix.sum())) + (1 << 31)) % (1 << 32) - (1 << 31) if mult else 0
        sums = np.arange(low, high + 1)
        z = 576 * sums + offset if mult else 0 * sums
        got = np.clip(((z * mult >> 32) + add + np.where(z < 0, 0, fix)) >> shift, -128, 127)
        scales = channel_scales(x, w, y, 2)
        want = np.clip(rescale(sums, *(int(s[i]) for s in scales)) + y.zero_point, -128, 127)
        assert np.array_equal(got, want), c


def test_layers_of_several_numbers_of_channels_have_a_stack_that_is_known() -> None:
    emulated("cortex-m4")
    net = Net()
    model = net.finish(net.conv(net.conv(net.input(1, 8, 8, 8), 12), 8))
    compiled = compile(model, target="cortex-m4", kernels={"0": "winograd4_unrolled", "1": "winograd4_unrolled"})
    built = code_size(compiled).built
    assert built is not None and built.stack is not None
