"""The models that are damaged: those in the repository, and small random ones that are made anew for every mutant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from random import Random

import transformer
from mote.frontends.tflite.writer import Writer
from tests.frontends.tflite import test_storage
from tests.helpers import idioms
from tests.helpers.network import Net
from tests.helpers.streams import sliding
from tests.ir.ops import test_hybrid, test_sequences, test_unsigned
from tests.ir.ops.classical import test_detection
from tests.ir.ops.control import flows
from tests.ir.ops.elementwise import pair_models, test_quantize
from tests.ir.ops.elementwise import test_unary_math as test_functions
from tests.ir.ops.indexing import test_gather as test_lookup
from tests.ir.ops.indexing import test_scatter
from tests.ir.ops.matrix import test_batch_matmul, test_blockwise
from tests.ir.ops.matrix import test_fully_connected_dynamic as test_projection
from tests.ir.ops.moves import test_strided as test_walk
from tests.ir.ops.recurrent import lstm_models, test_gru, test_svdf
from tests.ir.ops.reductions import test_along_axis as test_along
from tests.ir.ops.reductions import test_normalize, test_reduce
from tests.ir.ops.signal import signal_models
from tests.ir.ops.signal import test_rfft2d as test_spectrum
from tests.ir.ops.windows import test_conv3d

MODELS = Path(__file__).parents[2] / "models"
KINDS = {
    "network": 60,
    "lstm": 6,
    "svdf": 6,
    "variables": 6,
    "gru": 3,
    "stored": 6,
    "uint8": 6,
    "hybrid": 4,
    "blockwise": 2,
    "products": 6,
    "functions": 6,
    "moves": 8,
    "fused": 6,
    "reductions": 8,
    "pairs": 6,
    "wide": 6,
    "volumes": 2,
    "flow": 6,
    "front": 6,
    "compound": 6,
    "attention": 4,
    "digits": 8,
    "keywords": 1,
}
"""The bases, and how often each is taken."""
ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
LAYER = Callable[[Random, Net, int], int]


def base(rng: Random) -> tuple[str, bytes]:
    """A model that can be compiled, and its name."""
    name = rng.choices(list(KINDS), list(KINDS.values()))[0]
    seed = rng.randrange(1 << 30)
    if name == "network":
        return name, _network(rng)
    if name == "fused":
        return name, _fused(rng)
    if name == "lstm":
        return name, lstm_models.model(_lstm(rng, seed))
    if name == "svdf":
        dtype, batch, state = rng.choice(("int8", "float32")), rng.randint(1, 2), rng.choice(("int8", "int16"))
        return name, test_svdf.model(test_svdf.Config(dtype, batch, seed=seed, state=state))
    if name == "variables":
        return name, sliding(seed, rng.randint(1, 3), rng.randint(1, 4), rng.randint(1, 5), rng.randint(1, 2))
    if name == "gru":
        return name, test_gru.Gru(rng.choice(("int8", "float32")), 3, 4).model(rng.randint(1, 3))
    if name == "front":
        return name, _front(rng)
    if name == "compound":
        return name, _compound(rng, seed)
    if name == "stored":
        return name, _stored(rng)
    if name == "uint8":
        return name, _uint8(rng)
    if name == "hybrid":
        return name, test_hybrid.layers(False, rng.random() < 0.5) if rng.random() < 0.7 else test_hybrid.recurrent(
            False
        )
    if name == "blockwise":
        return name, test_blockwise.every_kernel()
    if name == "products":
        return name, _products(rng, seed)
    if name == "functions":
        return name, _functions(rng)
    if name == "moves":
        return name, _moves(rng)
    if name == "volumes":
        steps = (1, rng.randint(1, 2), 1)
        return name, test_conv3d.model(test_conv3d.Config(rng.random() < 0.5, stride=steps, seed=seed))
    if name == "reductions":
        return name, _reductions(rng)
    if name == "pairs":
        return name, _pairs(rng)
    if name == "flow":
        return name, rng.choice((flows.tangled(seed, rng.choice(("int8", "float32"))), flows.counters()))
    if name == "wide":
        return name, _wide(rng)
    if name == "attention":
        return name, _attention(rng, seed)
    return name, _bundled(name)


def _attention(rng: Random, seed: int) -> bytes:
    """A small transformer of any kind."""
    length, heads = rng.randint(1, 4), rng.randint(1, 2)
    shape = transformer.Shape(length, 4 * heads, heads, 1, hidden=5, words=6, classes=2, batch=2, seed=seed)
    windowed = rng.random() < 0.5 and length > 1
    kinds = (transformer.encoder, transformer.decoder, transformer.listener, partial(transformer.step, window=windowed))
    return rng.choice(kinds)(shape)


def _reductions(rng: Random) -> bytes:
    """What becomes of all elements along some axes, or along one, and normalizations."""
    w = Writer("reductions")
    for i in range(rng.randint(1, 3)):
        kind, dtype = rng.choice((*test_reduce.VARIETY, *test_reduce.OTHERS))
        axes = tuple(rng.sample(range(4), rng.randint(1, 3)))
        quants = test_reduce.QUANTS.get(dtype, ())
        layer = test_reduce.Config(kind, dtype, (1, rng.randint(1, 4), 3, 2), axes, rng.random() < 0.5, *quants)
        test_reduce.add(w, i, layer, w.input(f"r{i}", layer.shape, dtype, *layer.input))
    along = rng.choice(test_along.every())
    test_along.add(w, 9, along, w.input("along", along.shape, along.dtype))
    test_normalize.add(w, 0, rng.choice(test_normalize.every(rng.randint(1, 9))))
    return w.finish()


def _functions(rng: Random) -> bytes:
    """Functions of one tensor of any type, and conversions from type to type."""
    w = Writer("functions")
    for i in range(rng.randint(1, 4)):
        narrow, wide = (rng.choice(test_functions.INT8), "int8"), (rng.choice((*test_functions.INT16, "GELU")), "int16")
        kind, dtype = rng.choice((narrow, wide))
        y = 2**-15 if dtype == "int16" else rng.choice((0.01, 0.1))
        layer = test_functions.Config(kind, dtype, (rng.choice((0.0003, 0.02)), 0), (y, 0), rng.uniform(-1, 2))
        test_functions.add_layer(
            w, i, rng.choice((layer, layer, rng.choice(test_functions.PLAIN))), 2, rng.randint(1, 9)
        )
    pair = rng.choice(test_quantize.PAIRS)
    test_quantize.add_rescaling(w, 9, (pair, (rng.choice((0.001, 0.3)), 0), (0.02, 0)), 3, 5)
    test_quantize.add_real(w, rng.choice(list(test_quantize.LIMITS)), rng.choice((0.001, 0.3)), 0, 3, 5)
    x, y = w.input("cast", (7,), rng.choice(test_quantize.TYPES)), w.tensor("to", (7,), rng.choice(test_quantize.TYPES))
    w.op("CAST", [x], [y])
    w.output(y)
    return w.finish()


def _moves(rng: Random) -> bytes:
    """Operators that move, pick and put elements."""
    w = Writer("moves")
    for i in range(rng.randint(1, 4)):
        of = rng.choice((test_walk, test_lookup, test_scatter))
        of.add(w, i, rng.choice(of.PLAIN))
    return w.finish()


def _pairs(rng: Random) -> bytes:
    """Functions of two tensors and of more, of any type, of one shape or repeated."""
    found = pair_models.Model()
    for layer in rng.sample(list(pair_models.every_layer()), rng.randint(1, 4)):
        shapes = rng.choice([((2, 3), (3,)), ((1, 4, 1), (3, 1, 5)), ((2, 3, 4), (2, 3, 4)), layer.shapes])
        alike = layer.kind in ("ATAN2", "PRELU") or (layer.kind, layer.dtype) == ("ADD", "int16")
        found.layer(layer if alike else replace(layer, shapes=shapes, constant=rng.choice((-1, -1, 0, 1))))
    kind, shapes = rng.choice(pair_models.SELECTIONS)
    pair_models.select(found.writer, kind, rng.choice(pair_models.WIDTHS), shapes, rng.choice((-1, 0, 1, 2)))
    pair_models.add_n(found.writer, rng.choice(("int32", "float32")), rng.randint(2, 4))
    return found.finish()


def _fused(rng: Random) -> bytes:
    """What converters write out as several operators."""
    dtype = rng.choice(("int8", "float32"))
    net = Net(rng.randrange(1 << 30), dtype)
    functions = {"int8": idioms.BYTES, "float32": idioms.REALS}[dtype]
    made = [build(net, net.input(*idioms.LINES)) for build in rng.sample(list(functions.values()), 2)]
    made += [build(net, net.input(*idioms.LINES)) for build in idioms.NORMS[dtype][:2]]
    return net.finish(*made, *(build(net) for build in rng.sample(list(idioms.MOVES), 3)))


def _uint8(rng: Random) -> bytes:
    """A few layers of a uint8 model."""
    net = test_unsigned.Bytes(rng.randrange(1 << 30))
    x = net.input(1, rng.randint(1, 6), rng.randint(2, 6), rng.randint(1, 5))
    layers = (net.conv, net.depthwise, net.pool)
    for layer in rng.choices(layers, k=rng.randint(1, 3)):
        x = layer(x, rng.randint(1, 2))
    *image, channels = net.shapes[x]
    return net.finish(net.op("ADD", [x, x]), net.op("CONCATENATION", [x, x], (*image, 2 * channels), axis=3))


def _stored(rng: Random) -> bytes:
    """Constants that files store in other ways than as they are."""
    kinds = ["DEPTHWISE_CONV_2D", "CONV_2D"]
    made = (
        test_storage.half,
        lambda: test_storage.layers("int4", -8, 7, kinds),
        lambda: test_storage.listed_in_blocks(rng.choice(("float32", "int8", "float16"))),
    )
    return rng.choice(made)()


def _products(rng: Random, seed: int) -> bytes:
    """Products of matrices, or one of such a product."""
    turned = rng.random() < 0.5, rng.random() < 0.5
    if rng.random() < 0.3:
        kind = rng.choice(test_projection.TYPES)
        return test_projection.model(test_projection.Config(kind, constant=turned[0], keep_dims=turned[1], seed=seed))
    if rng.random() < 0.3:
        return test_batch_matmul.chain(rng.choice(("int8", "int16", "float32")), (2,) * rng.randrange(3), turned[1], 3)
    batches = rng.choice((((), ()), ((2,), (2,)), ((2, 1), (3,)), ((), (2, 2))))
    sizes = rng.randint(1, 5), rng.randint(1, 9), rng.randint(1, 6)
    return test_batch_matmul.model(
        test_batch_matmul.Config(
            rng.choice(test_batch_matmul.TYPES), batches, sizes, turned, rng.choice((-1, 0, 1)), seed=seed
        )
    )


def _wide(rng: Random) -> bytes:
    """A few layers with int16 activations."""
    net = Net(rng.randrange(1 << 30), "int16")
    y = net.input(1, rng.randint(1, 6), rng.randint(1, 6), rng.randint(1, 5))
    for _ in range(rng.randint(1, 3)):
        y = rng.choice((_conv, _depthwise, _transpose_conv, _pad, _slice))(rng, net, y)
    return net.finish(_dense(rng, net, net.flat(y)))


def _front(rng: Random) -> bytes:
    """A few Signal operators of TFLite Micro, one after another and beside each other."""
    front, size = signal_models.Front(), rng.choice((8, 12, 16))
    x = front.input((1, 4))
    frames = front.framer(x, (1, 4), size, 2, prefill=rng.random() < 0.5)
    front.overlap_add(frames, (1, 2, size), 2)
    front.delay(x, (1, 4), rng.randint(0, 6))
    scaled, bits = front.auto_scale(front.input((size,)), size)
    energy = front.energy(front.rfft(scaled, (), size), size // 2 + 1, rng.randint(0, 1))
    roots = front.square_root(front.filter_bank(energy, [1, 2, 2], rng.randint(0, 9)), bits, 2)
    clean, noise = front.subtraction(roots, 2)
    logs = front.log(front.pcan(clean, noise, 2, rng.randint(0, 31)), 2)
    front.stacker(logs, 2, rng.randint(0, 2), rng.randint(0, 2), 1)
    dtype = rng.choice(("int16", "int32", "float32"))
    front.irfft(front.input((2, size + 2), dtype), (2,), size, dtype)
    return front.finish()


def _compound(rng: Random, seed: int) -> bytes:
    """Operators with several results, with two directions, or with complex numbers inside."""
    kind = rng.choice(("boxes", "suppression", "sequence", "spectrum"))
    if kind == "boxes":
        regular, dtype = rng.random() < 0.5, rng.choice(("float32", "uint8"))
        return test_detection.model(
            test_detection.Config(dtype, rng.randint(1, 9), rng.randint(1, 4), each=2, regular=regular, seed=seed)
        )
    if kind == "suppression":
        sigma = rng.choice((None, 0.0, 0.5))
        return test_detection.suppression(rng.randint(1, 9), rng.randint(1, 5), 0.5, -0.5, sigma, seed)
    if kind == "spectrum":
        return test_spectrum.model(((2, rng.randint(1, 3), rng.randint(1, 9)), rng.choice((1, 2)), 8))
    whole = rng.choice(
        ("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_LSTM")
    )
    return test_sequences.model(test_sequences.Config(whole, merged=rng.random() < 0.5, seed=seed))


@cache
def _bundled(name: str) -> bytes:
    return (MODELS / f"{name}.tflite").read_bytes()


def _lstm(rng: Random, seed: int) -> lstm_models.Config:
    """LiteRT on Arm has other code for 8 cells or more, which rounds differently where there is a projection."""
    plain = lstm_models.Config(rng.choice(("int8", "float32")), time=rng.randint(1, 3), inputs=4, cells=5, seed=seed)
    return replace(plain, outputs=rng.choice((0, 3)), coupled=rng.random() < 0.3, normalized=rng.random() < 0.3)


def _network(rng: Random) -> bytes:
    """A few random layers, one after another and beside each other."""
    net = Net(rng.randrange(1 << 30), rng.choice(("int8", "int8", "int8", "float32")))
    size = (rng.choice((1, 1, 1, 2)), rng.choice((1, 2, 5, 8)), rng.randint(1, 8), rng.randint(1, 6))
    found = [net.input(*size)]
    for _ in range(rng.randint(1, 5)):
        x = rng.choice(found[-2:])
        rank = len(net.shapes[x])
        found.append(rng.choice(IMAGES if rank == 4 else VECTORS)(rng, net, x))
    return net.finish(*rng.sample(found[1:], 1 if rng.random() < 0.8 else min(2, len(found) - 1)))


def _window(rng: Random, net: Net, x: int) -> dict[str, object]:
    return {
        "stride": (rng.choice((1, 1, 2, 3)), rng.choice((1, 1, 2))),
        "dilation": rng.choice((1, 1, 1, 2)),
        "fused_activation_function": rng.choice(ACTIVATIONS),
    }


def _kernel(rng: Random, net: Net, x: int) -> tuple[int, int]:
    return rng.choice((1, 2, 3)), rng.choice((1, 3, 3, 5))


def _conv(rng: Random, net: Net, x: int) -> int:
    return net.conv(x, rng.randint(1, 9), _kernel(rng, net, x), **_window(rng, net, x))


def _depthwise(rng: Random, net: Net, x: int) -> int:
    return net.depthwise(x, rng.choice((1, 1, 2)), _kernel(rng, net, x), **_window(rng, net, x))


def _transpose_conv(rng: Random, net: Net, x: int) -> int:
    return net.transpose_conv(x, rng.randint(1, 4), rng.randint(2, 3), 2)


def _pool(rng: Random, net: Net, x: int) -> int:
    _, height, width, _ = net.shapes[x]
    size = rng.randint(1, min(height, 3)), rng.randint(1, min(width, 3))
    return net.pool(x, size, rng.choice(("AVERAGE_POOL_2D", "MAX_POOL_2D")))


def _resize(rng: Random, net: Net, x: int) -> int:
    kind = rng.choice(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"))
    return net.resize(x, rng.randint(1, 12), rng.randint(1, 12), kind)


def _pad(rng: Random, net: Net, x: int) -> int:
    return net.pad(x, *((rng.choice((0, 0, 1)), rng.choice((0, 0, 2))) for _ in net.shapes[x]))


def _mean(rng: Random, net: Net, x: int) -> int:
    return net.mean(x)


def _transpose(rng: Random, net: Net, x: int) -> int:
    order = rng.sample(range(len(net.shapes[x])), len(net.shapes[x]))
    return net.moved("TRANSPOSE", [x, net.ints(*order)], tuple(net.shapes[x][i] for i in order))


def _concatenate(rng: Random, net: Net, x: int) -> int:
    return net.concatenate(rng.randrange(len(net.shapes[x])), x, x)


def _slice(rng: Random, net: Net, x: int) -> int:
    begin = tuple(rng.randrange(n) for n in net.shapes[x])
    return net.slice(x, begin, tuple(rng.randint(1, n - b) for n, b in zip(net.shapes[x], begin, strict=True)))


def _flat(rng: Random, net: Net, x: int) -> int:
    return net.flat(x)


def _dense(rng: Random, net: Net, x: int) -> int:
    return net.fully_connected(x, rng.randint(1, 9))


def _arithmetic(rng: Random, net: Net, x: int) -> int:
    kind = rng.choice(("ADD", "SUB", "MUL"))
    quant = None if net.dtype == "float32" else (rng.choice((0.02, 0.05, 0.3)), rng.randint(-128, 127))
    return net.op(kind, [x, x], quant=quant, fused_activation_function=rng.choice(ACTIVATIONS))


def _function(rng: Random, net: Net, x: int) -> int:
    kind = rng.choice(("RELU", "RELU6", "RELU_N1_TO_1", "LEAKY_RELU", "HARD_SWISH", "LOGISTIC", "TANH", "SOFTMAX"))
    fixed = {"LOGISTIC": (1 / 256, -128), "SOFTMAX": (1 / 256, -128), "TANH": (1 / 128, 0)}
    options = {"LEAKY_RELU": {"alpha": rng.uniform(-1, 2)}, "SOFTMAX": {"beta": 1.0}}.get(kind, {})
    return net.op(kind, [x], quant=None if net.dtype == "float32" else fixed.get(kind), **options)


ANY: tuple[LAYER, ...] = (_arithmetic, _function, _transpose, _concatenate, _slice, _pad, _flat)
IMAGES: tuple[LAYER, ...] = (_conv, _conv, _depthwise, _depthwise, _transpose_conv, _pool, _resize, _mean, *ANY)
VECTORS: tuple[LAYER, ...] = (_dense, _dense, *ANY)
