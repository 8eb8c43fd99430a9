"""Small models that together call every function of the portable kernels, for `prove.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from tests.compiler.kernels import test_even_elements
from tests.compiler.kernels.even import Layers
from tests.frontends.features.postprocess import test_steps as test_decisions
from tests.helpers import idioms
from tests.helpers.built import side_by_side
from tests.helpers.flow import Flow
from tests.helpers.network import FLOAT, Net, Quant
from tests.helpers.streams import Variable
from tests.ir.ops import test_hybrid, test_sequences, test_unsigned
from tests.ir.ops.classical import test_detection
from tests.ir.ops.classical import test_distances_svm as test_vectors
from tests.ir.ops.control import flows
from tests.ir.ops.elementwise import pair_models, test_quantize
from tests.ir.ops.elementwise import test_unary_math as test_functions
from tests.ir.ops.features import test_filters, test_images, test_micro, test_motion, test_spectral
from tests.ir.ops.learning import test_gaussian, test_linear, test_neighbors, test_one_class, test_prototypes
from tests.ir.ops.matrix import test_batch_matmul, test_blockwise
from tests.ir.ops.matrix import test_fully_connected_dynamic as test_projection
from tests.ir.ops.recurrent import lstm_models, test_svdf
from tests.ir.ops.reductions import test_along_axis as test_along
from tests.ir.ops.reductions import test_normalize, test_reduce
from tests.ir.ops.signal import signal_models
from tests.ir.ops.signal import test_rfft2d as test_spectrum
from tests.ir.ops.training import test_kernels as test_training
from tests.ir.ops.training.integer import test_input_gradients as test_integer_gradients
from tests.ir.ops.training.integer import test_steps as test_integer_steps
from tests.ir.ops.windows import test_conv3d

from mote.frontends.build import Builder
from mote.frontends.build import norms as normalizations
from mote.frontends.build import recurrent as sequential
from mote.frontends.model import Model
from mote.frontends.tflite.writer import Writer
from mote.ir.graph import Graph
from mote.ir.graph.types import DType


def layers(dtype: str) -> bytes:
    """Layers with weights over an image: windows with and without padding, strides, gaps, odd numbers of channels."""
    net = Net(1, dtype)
    x = net.input(1, 5, 4, 2)
    wide = net.conv(net.conv(x, 3, (3, 2), stride=2), 5, 1)
    classes = net.fully_connected(net.fully_connected(net.flat(net.pool(x)), 6), 5)
    return net.finish(
        net.depthwise(wide, kernel=2),
        net.conv(x, 3, (5, 4), padding="VALID"),
        net.conv(net.depthwise(x), 2, (2, 3), dilation=2),
        net.depthwise(x, 2, stride=2),
        net.depthwise(x, kernel=(5, 4), padding="VALID"),
        net.transpose_conv(net.conv(x, 2, stride=3), 3),
        net.mean(net.conv(x, 2, 1)),
        net.op("SOFTMAX", [classes], quant=_quant(dtype, 1 / 256, -128), beta=1.0),
    )


def elements(dtype: str) -> bytes:
    """Operators on elements, on windows without weights, and those that move elements."""
    net = Net(2, dtype)
    x, other = net.input(1, 4, 3, 5), net.input(1, 4, 3, 5)
    curved = net.op("TANH", [other], quant=_quant(dtype, 1 / 128, 0))
    squashed = net.op("LOGISTIC", [other], quant=_quant(dtype, 1 / 256, -128))
    kept = net.op("LEAKY_RELU", [x], alpha=0.3)
    share = net.op("LOGISTIC", [net.op("TANH", [x])], quant=_quant(dtype, 1 / 256, -128))
    mean = net.mean(x)
    slopes = net.weights(1, 1, 5) if dtype == "int8" else np.float32(net.weights(1, 1, 5))
    inner = net.pad(net.slice(x, (0, 1, 1, 0), (1, 2, 2, 5)), (0, 0), (1, 1), (0, 1), (0, 0))
    return net.finish(
        net.op("MUL", [x, curved]),
        net.op("RELU", [x]),
        net.op("MUL", [net.op("HARD_SWISH", [x]), share]),
        net.op("MUL", [x, net.reshape(mean, 1, 1, 1, 5)]),
        net.op("SUB", [kept, net.reshape(mean, 1, 1, 1, 5)]),
        net.op("ADD", [x, net.op("LOGISTIC", [net.reshape(mean, 1, 1, 1, 5)], quant=_quant(dtype, 1 / 256, -128))]),
        net.op("MEAN", [x, net.ints(3)], (1, 4, 3)),
        net.op("MEAN", [x, net.ints(2, 3)], (1, 4)),
        net.pad(x, (0, 0), (1, 0), (0, 2), (0, 0)),
        net.op("ADD", [net.op("HARD_SWISH", [x]), squashed]),
        net.op("PRELU", [x, net.writer.const("slopes", slopes, *_quant(dtype, 0.01, 3))]),
        net.resize(net.pool(x, (3, 2), "MAX_POOL_2D", (2, 1)), 3, 3),
        net.resize(net.pool(x, (2, 3), stride=1), 4, 2, "RESIZE_NEAREST_NEIGHBOR"),
        net.pool(x, (4, 3)),
        net.pool(x, (4, 3), "MAX_POOL_2D"),
        net.concatenate(3, x, inner),
        net.moved("TRANSPOSE", [x, net.ints(0, 2, 3, 1)], (1, 3, 5, 4)),
    )


def norms(dtype: str) -> bytes:
    """Layers that are computed line by line."""
    net = Net(4, dtype)
    return net.finish(idioms.layer_norm(net, net.input(*idioms.LINES)))


def edges() -> bytes:
    """From float32 to int8 and back, and a variable."""
    net = Net(3, "float32")
    x = net.input(1, 5)
    state = Variable(net, net.rng.normal(size=(1, 5)).astype(np.float32))
    q = net.op("QUANTIZE", [x], quant=(0.05, 3))
    y = net.op("ADD", [net.op("DEQUANTIZE", [q]), state.read()])
    state.assign(y)
    return net.finish(y)


def recurrent(dtype: str) -> bytes:
    """Layers that remember."""
    w = Writer("recurrent")
    lstm = lstm_models.Config(dtype=dtype, inputs=3, cells=3, clips=(0.3, 0.3))
    every = replace(lstm, outputs=2, coupled=True, peepholes=True, normalized=True)
    lstm_models.add_layer(w, 0, lstm)
    lstm_models.add_layer(w, 1, every)
    svdf = test_svdf.Config(dtype=dtype, inputs=5, units=2, memory=3)
    test_svdf.add_layer(w, 2, svdf)
    if dtype == "int8":
        test_svdf.add_layer(w, 3, replace(svdf, state="int8", zeros=(3, -128, 5)))
    return w.finish()


def wide_layers() -> bytes:
    """Layers with int16 activations, with sums of 32 and of 64 bits."""
    net = Net(8, "int16")
    x = net.input(1, 4, 3, 2)
    large = np.linspace(-1, 1, 5) * 2.0**36
    grouped = net.conv(x, net.weights(10, 2, 3, 1))
    y = net.conv(net.depthwise(net.conv(grouped, 5, 1), kernel=2, bias=large), 5, 1, bias=large, stride=2)
    flat = net.flat(net.transpose_conv(net.depthwise(y, 2, stride=2), 5))
    return net.finish(net.fully_connected(net.fully_connected(flat, 5, bias=large), 5))


def products() -> bytes:
    """Products of matrices, fully connected layers with weights that are computed, and convolutions of volumes: of all
    types that they have; and shares of many, as attention has."""
    w = Writer("products")
    matrices = test_batch_matmul.Config(batches=((2, 1), (2,)), sizes=(2, 3, 5), zeros=(-128, 127, 4))
    for i, types in enumerate(sorted(set(test_batch_matmul.TYPES))):
        for turned in (False, True):
            test_batch_matmul.add_layer(w, 10 * i + turned, replace(matrices, types=types, turned=(turned, turned)))
    for i, types in enumerate(sorted(set(test_projection.TYPES))):
        test_projection.add_layer(w, 100 + i, test_projection.Config(types, depth=3, channels=2))
    scores, shares = w.input("scores", (4, 256), "int8", 0.1), w.tensor("shares", (4, 256), "int8", 1 / 256, -128)
    w.op("SOFTMAX", [scores], [shares])
    w.output(shares)
    volume = test_conv3d.Config(size=(2, 3, 2), kernel=(2, 2, 2))
    spread = replace(volume, dilation=(1, 2, 2), stride=(1, 1, 1))
    volumes = (volume, replace(volume, transposed=True), spread)
    w.output(*(test_conv3d.add_layer(w, i, c) for i, c in enumerate(volumes, 200)))
    return w.finish()


def lines(turned: bool) -> bytes:
    """Products of matrices line by line."""
    return test_batch_matmul.chain("int16" if turned else "int8", (), turned, 5)


def halves() -> bytes:
    """A fully connected layer with sums that no multiplier of 31 bits rounds as LiteRT does: a table does."""
    net = Net(6)
    x = net.input(1, 4, quant=(0.5, 0))
    weights = net.writer.const("weights", np.array([[1, 0, 0, 0], [0, 0, 2, -1]], np.int8), 0.25)
    bias = net.writer.const("bias", np.array([-1_011_538_438, -1_011_538_436], np.int32), 0.125)
    return net.finish(net.op("FULLY_CONNECTED", [x, weights, bias], (1, 2), (0.125 / 1.3e-7, 4)))


def window() -> bytes:
    """A convolution over time, and nothing else that reads the window."""
    net = Net(5)
    return net.finish(net.conv(net.input(1, 4, 2, 2), 2, (3, 1), padding="VALID"))


def coded() -> bytes:
    """Layers whose weights are worth a prefix code: most are zero."""
    net = Net(4)
    x = net.input(1, 4, 3, 4)
    few = [
        net.rng.choice([0, 0, 0, 1, -3, 9], shape).astype(np.int8) for shape in ((10, 1, 1, 4), (2, 1, 2, 10), (3, 24))
    ]
    y = net.conv(net.conv(x, few[0]), few[1])
    return net.finish(net.fully_connected(net.flat(y), few[2]))


def boxes() -> bytes:
    """Boxes that suppress each other: by their best classes, in each class, and by scores alone."""
    w = Writer("boxes")
    few = test_detection.Config(boxes=3, classes=2, detections=2, each=2)
    test_detection.add_layer(w, 0, few)
    test_detection.add_layer(w, 1, replace(few, dtype="uint8", regular=True, each=1))
    test_detection.suppression(3, 2, 0.5, 0.0, None, 2, w)
    return test_detection.suppression(3, 2, 0.5, 0.0, 0.3, 3, w)


def functions() -> bytes:
    """Functions of one tensor in all types, from 16 bits up."""
    w = Writer("functions")
    wide = [test_functions.Config(kind, "int16", (0.0003, 0), (2**-15, 0)) for kind in (*test_functions.INT16, "GELU")]
    below = test_functions.Config("LEAKY_RELU", "int16", (0.5, 0), (0.001, 0), -0.3)
    for i, layer in enumerate((*test_functions.PLAIN, *wide, below)):
        test_functions.add_layer(w, i, layer, 3)
    x = w.input("x", (3,), "float32")
    for kind in (*test_functions.FLOAT32, *test_functions.NOT_IN_REFERENCE):
        for approximate in (False, True)[: 2 if kind == "GELU" else 1]:
            y = w.tensor(f"{kind}_{approximate}", (3,), "float32")
            w.op(kind, [x], [y], **test_functions.Config(kind, approximate=approximate).options)
            w.output(y)
    return w.finish()


def pairs() -> bytes:
    """Functions of two and more tensors, each in three types, of one shape and repeated."""
    return pair_models.every_kernel(3, ("int8", "int32", "float32"))


def conversions() -> bytes:
    """From every type to every other one."""
    w = Writer("conversions")
    test_quantize.add_casts(w, 2)
    for i, pair in enumerate((*test_quantize.PAIRS, ("int8", "int32"))):
        test_quantize.add_rescaling(w, i, (pair, (0.02, 0), (0.0003, 0)), 3)
    test_quantize.add_real(w, "uint8", 0.02, 7, 3)
    test_quantize.add_real(w, "int16", 0.0001, 0, 3)
    return w.finish()


def picked_rows() -> bytes:
    """Rows that are picked, repeated and turned, between layers that want them one after another."""
    net = Net(7)
    x = net.conv(net.input(1, 4, 4, 2), 4, 1)
    mirrored = net.moved("MIRROR_PAD", [x, net.ints((0, 0), (1, 1), (1, 0), (0, 0))], (1, 6, 5, 4), mode="REFLECT")
    turned = net.moved("REVERSE_V2", [net.conv(mirrored, 4, 1), net.ints(2)], (1, 6, 5, 4))
    spread = net.moved("DEPTH_TO_SPACE", [net.conv(turned, 4, 1)], (1, 12, 10, 1), block_size=2)
    return net.finish(net.mean(net.conv(spread, 2, 1)))


def front() -> bytes:
    """An audio front end of few samples, and transforms of every radix and type."""
    found = signal_models.Front()
    x = found.input((1, 4))
    frames = found.framer(x, (1, 4), 6, 2, prefill=False)
    found.window(frames, (1, 2, 6), np.arange(6, dtype=np.int16) * 900)
    scaled, bits = found.auto_scale(found.input((8,)), 8)
    energy = found.energy(found.rfft(scaled, (), 8), 5, 1, 4)
    roots = found.square_root(found.filter_bank(energy, [1, 2, 1]), bits, 2)
    clean, noise = found.subtraction(roots, 2)
    found.stacker(found.log(found.pcan(clean, noise, 2), 2), 2, 1, 1, 2)
    for dtype, length in (("int16", 12), ("int16", 10), ("int32", 12), ("int32", 10), ("float32", 24)):
        found.irfft(found.rfft(found.input((length,), dtype), (), length, dtype), (), length, dtype)
    found.delay(x, (1, 4), 3)
    for dtype in ("int16", "float32"):
        found.overlap_add(found.input((2, 3), dtype), (2, 3), 2, dtype)
    return found.finish()


def reductions() -> bytes:
    """What becomes of all elements along some axes, or along one, in all types."""
    w = Writer("reductions")
    kinds = (*test_reduce.VARIETY, *test_reduce.OTHERS, ("REDUCE_MAX", "int64"), ("REDUCE_MIN", "int32"))
    for i, (kind, dtype) in enumerate(kinds):
        quants = test_reduce.QUANTS.get(dtype, ())
        for axes in ((1,), (0, 2), (0, 1, 2)):
            c = test_reduce.Config(kind, dtype, (2, 2, 3), axes, False, *quants)
            test_reduce.add(w, len(axes) + 4 * i, c, w.input(f"{kind}_{dtype}_{len(axes)}", c.shape, dtype, *c.input))
    segments = test_along.Config("SEGMENT_SUM", "int32", (3, 2), 0, segments=(0, 0, 1))
    for i, layer in enumerate((*test_along.every(), segments)):
        test_along.add(w, 100 + i, layer, w.input(f"along{i}", layer.shape, layer.dtype))
    for i, normalization in enumerate(test_normalize.every(3)):
        test_normalize.add(w, i, normalization)
    return test_along.int8_sums(test_along.Config("CUMSUM", "int8", (2, 2), 0), writer=w)


def maxima() -> bytes:
    """Of an int8 image that comes row by row, and sums."""
    image, quants = (1, 5, 3, 5), test_reduce.QUANTS["int8"]
    kinds = (("REDUCE_MAX", (1, 2)), ("REDUCE_MAX", (1, 3)), ("SUM", (1, 2)))
    layers = (test_reduce.Config(kind, "int8", image, axes, False, *quants) for kind, axes in kinds)
    return test_reduce.model(*layers, shared=True)


def row_sums() -> bytes:
    """Convolutions to a single row, whose sums are kept while the image comes row by row, and nothing else that reads
    it: with columns of padding and without."""
    net = Net(1)
    x = net.input(1, 5, 4, 2)
    return net.finish(net.conv(x, 3, (5, 4), padding="VALID"), net.conv(x, 3, (5, 3), stride=(5, 1)))


def pooled_rows() -> bytes:
    """An int16 image that comes row by row, and its average in one row, which is kept as sums meanwhile."""
    w = Writer("pooled_rows")
    x, y = w.input("x", (1, 5, 4, 2), "int16", 0.1), w.tensor("y", (1, 1, 1, 2), "int16", 0.1)
    w.op("AVERAGE_POOL_2D", [x], [y], padding="VALID", filter_height=5, filter_width=4)
    w.output(y)
    return w.finish()


def reduced_rows() -> bytes:
    """An int16 image that comes row by row, and its indices, sums, maxima and averages in one row; and wider ones."""
    w = Writer("reduced_rows")
    x = w.input("x", (1, 4, 3, 2), "int16", 0.1)
    y = w.tensor("y", (1, 4, 3, 2), "float32")
    w.op("DEQUANTIZE", [x], [y])
    quant = test_reduce.QUANTS["int16"]
    for i, (kind, axes) in enumerate((kind, axes) for kind in ("MEAN", "REDUCE_MAX") for axes in ((1, 2), (3,))):
        output = quant[0] if kind == "REDUCE_MAX" else quant[1]
        test_reduce.add(w, i, test_reduce.Config(kind, "int16", (1, 4, 3, 2), axes, False, quant[0], output), x)
    test_reduce.add(w, 9, test_reduce.Config("SUM", "float32", (1, 4, 3, 2), (1,)), y)
    test_along.add(w, 10, test_along.Config("ARG_MAX", "float32", (1, 4, 3, 2), 3), y)
    for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        for height, windows in ((4, 1), (2, 3)):
            z = w.tensor(f"{kind}{height}", (1, windows, 3, 2), "int16", 0.1)
            w.op(kind, [x], [z], padding="VALID", filter_height=height)
            w.output(z)
    wider, rooted = w.tensor("wider", (1, 5, 5, 2), "int16", 0.1), w.tensor("rooted", (1, 3, 2, 2), "float32")
    w.op("RESIZE_BILINEAR", [x, w.const("size", np.int32([5, 5]))], [wider], half_pixel_centers=True)
    w.op("L2_POOL_2D", [y], [rooted], padding="VALID", filter_height=2, filter_width=2)
    w.output(wider, rooted)
    return w.finish()


def sequences() -> bytes:
    """Layers that remember, forwards and backwards."""
    few = test_sequences.Config(time=2, inputs=2, units=2, cells=2)
    rnn = replace(few, kind="BIDIRECTIONAL_SEQUENCE_RNN", activation="RELU")
    return test_sequences.model(few, rnn, replace(few, kind="RNN"))


def built() -> Model:
    """Layers that TFLite has no operators for: recurrent ones that begin with zeros, with states, and with gates of any
    kind, and normalizations."""
    rng, b = np.random.default_rng(0), Builder("built")
    shapes_of = {"x": (2, 1, 2), "h": (1, 1, 5), "c": (1, 1, 5)}
    x, h, c = (b.input(name, shape, DType.FLOAT32) for name, shape in shapes_of.items())
    for i, (kind, blocks) in enumerate(sequential.BLOCKS.items()):
        shapes = (blocks * 5, 2), (blocks * 5, 5), (2 * blocks * 5,), (15,)
        w, r, bias, seen = (rng.uniform(-0.5, 0.5, shape).astype(np.float32) for shape in shapes)
        names = ("softplus", "elu", "softsign")[: len(sequential.GATES[kind])]
        unusual = tuple(sequential.gate(name, clip=2.0) for name in names)
        of_lstm = kind == "LSTM"
        for form, gates in enumerate((None, None, unusual)):
            side = sequential.RecurrentDirection(
                w, r, bias, gates, seen if of_lstm and form else None, backward=form == 1
            )
            states = {} if form != 1 else {"hidden": h, "cell": c} if of_lstm else {"hidden": h}
            with b.layer(3 * i + form, kind, f"{kind}{form}"):
                found = sequential.layer(b, kind, x, [side], after=form == 1, **states)
            for result, value in found.items():
                b.output(value, f"{kind}{form}_{result}")
    with b.layer(9, "NORM", "norm"):
        scale = b.constant(np.ones(5, np.float32))
        both = normalizations.layer_norm(b, h, [2], scale, scale), normalizations.rms_norm(b, h, [2])
    for i, value in enumerate(both):
        b.output(value, f"norm{i}")
    return b.finish()


def spectra() -> bytes:
    """Spectra of images, of one row and of several."""
    return test_spectrum.model(((1, 6), 1, 8), ((3, 5), 2, 4))


CODED = {"0": "coded_pointwise_s8", "1": "coded_conv2d_s8", "3": "fully_connected_coded_s8"}
"""The kernels that `coded` has them in."""


def _quant(dtype: str, scale: float, zero: int) -> Quant:
    return (scale, zero) if dtype == "int8" else FLOAT


def unsigned() -> bytes:
    """A uint8 model: weights of 9 bits, averages that round up, uint8 at the edges."""
    net = test_unsigned.Bytes(1)
    x, v = net.input(1, 4, 5, 5), net.input(2, 4)
    k = net.writer.const("k", np.array([[1, 0, 0, 200], [0, 0, 2, 1]], np.uint8), 0.25)
    large = net.writer.const("b", np.array([-1_011_538_438, -1_011_538_436], np.int32))
    return net.finish(
        net.conv(x, 3, stride=2),
        net.conv(x, 3, 1),
        net.depthwise(x),
        net.depthwise(x, 2, 2),
        net.dense(v, 5),
        net.op("FULLY_CONNECTED", [v, k, large], (2, 2), (0.25 * net.quants[v][0] / 1.3e-7, 132)),
        net.pool(x, 2, padding="SAME"),
        net.op("RESIZE_BILINEAR", [x, net.ints(3, 2)], (1, 3, 2, 5), net.quants[x], half_pixel_centers=True),
    )


def flow() -> bytes:
    """Branches, and loops with a known number of turns and one that an input says; memories inside of them."""
    net = Flow(3, "float32")
    x, flags = net.input(1, 3), [net.flag(), net.flag()]
    made = [net.like(x)]
    net.choose(flags[0], [x], lambda b, t: [flows.remembering(b, t[0])], flows.keep, made)
    count = flows.shifted(2)
    again = net.repeat([*flags, made[0]], flows.first, lambda b, t: [*count(b, t), b.add(t[2], t[2])])
    given = [net.constant(0, "int32"), again[2], made[0]]
    end = net.repeat(
        given,
        lambda b, t: [flows.less(b, t[0], b.constant(9, "int32"))],
        lambda b, t: [flows.one_more(b, t[0]), t[2], b.add(t[1], t[2])],
    )
    return net.finish(end[1], end[2])


def hybrid() -> bytes:
    """float32 layers with int8 weights, and with block-wise quantized ones."""
    net = Net(4, "float32")
    net.writer = test_hybrid.Small(expanded=False, axis=0, named="p")
    x = net.input(1, 4, 5, 3)
    found = [net.conv(x, 3, stride=2), net.conv(x, 2, 2, dilation=2)]
    net.writer.axis = 3
    found.append(net.depthwise(x, 2, stride=2))
    net.writer.axis = None
    found.append(net.fully_connected(net.flat(x), 3))
    test_svdf.add_layer(net.writer, 7, test_svdf.Config("float32", 2, inputs=5, units=2, memory=3))
    normalized = lstm_models.Config("float32", inputs=2, cells=3, outputs=2, peepholes=True, normalized=True)
    lstm_models.add_layer(net.writer, 8, normalized)
    lstm_models.add_layer(net.writer, 9, lstm_models.Config("float32", time=2, inputs=2, cells=3, coupled=True))
    test_blockwise.add_every(net.writer, 10)
    return net.finish(*found)


def trees() -> bytes:
    """Trees as XGBoost writes them, over two features, for three classes."""
    rng = np.random.default_rng(0)

    def tree() -> dict[str, Any]:
        inner = [int(f) for f in rng.integers(0, 2, 3)]
        return {
            "tree_param": {"size_leaf_vector": "1"},
            "left_children": [1, 3, 5, -1, -1, -1, -1],
            "right_children": [2, 4, 6, -1, -1, -1, -1],
            "split_indices": [*inner, 0, 0, 0, 0],
            "split_conditions": [float(v) for v in np.round(rng.normal(0, 2, 7), 2)],
            "default_left": [int(v) for v in rng.integers(0, 2, 7)],
        }

    learner = {
        "gradient_booster": {
            "name": "gbtree",
            "model": {"trees": [tree() for _ in range(6)], "tree_info": [0, 1, 2] * 2},
        },
        "objective": {"name": "multi:softprob"},
        "learner_model_param": {"base_score": "0.5", "num_class": "3", "num_feature": "2", "num_target": "1"},
    }
    return json.dumps({"learner": learner}).encode()


def vectors() -> Model:
    """Distances to vectors, and support vectors."""
    return side_by_side(case.graph for case in test_vectors.cases())


def even() -> Model:
    """Results that are rounded to even, in every way."""
    return side_by_side(_even_layers())


def _even_layers() -> Iterator[Graph]:
    for seed, wide in ((0, False), (1, False), (0, True)):
        yield from Layers(seed, halves=seed == 1, wide=wide).some()
    yield from test_even_elements.layers(2)
    yield from (g for g in test_even_elements.pairs(7) if g.ops[0].output(g).size < 1000)
    yield test_even_elements.quantizing()


def decisions() -> Model:
    """Averages of scores, events, thresholds, anomaly scores and boxes."""
    return side_by_side(test_decisions.every_step())


def learners() -> Model:
    """Learning without gradients: what is scored, then learned."""
    return side_by_side(
        g
        for learner in (test_prototypes, test_neighbors, test_one_class, test_gaussian, test_linear)
        for g in learner.several()
    )


def gradients() -> Model:
    """Gradients and losses of training in float32."""
    return side_by_side(test_training.several())


def integer_steps() -> Model:
    """Losses and steps of training in integers."""
    return side_by_side(test_integer_steps.several())


def integer_gradients() -> Model:
    """Gradients of int8 layers."""
    return side_by_side(test_integer_gradients.several())


def images() -> Model:
    """Lines of cameras, resized."""
    return side_by_side(case.graph for case in test_images.few())


def micro() -> Model:
    """The micro front end."""
    return side_by_side(test_micro.every()[1:])


def filters() -> Model:
    """Filters of signals, and their normalization."""
    return side_by_side([test_filters.everything(), test_filters.features(), test_filters.streamed()])


def motion() -> Model:
    """Statistics and wavelets of motion."""
    return side_by_side(case.graph for case in test_motion.small())


def moments() -> Model:
    """Moments and spectra of motion."""
    return side_by_side(case.graph for case in test_motion.unbounded())


def sounds() -> Model:
    """Spectral features of sound."""
    return side_by_side(case.graph for case in test_spectral.few())
