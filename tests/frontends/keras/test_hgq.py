"""Archives of HGQ2, as it writes them, made without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("h5py")
import mote
from mote.base.errors import MoteError
from mote.frontends import load
from mote.ir.graph.tensor import Array
from tests.frontends.keras.keras2_models import evaluated
from tests.frontends.keras.keras_files import called, functional, given, keras_file, tensor
from tests.frontends.keras.test_qkeras import convolved

RNG = np.random.default_rng(17)
Bits = tuple[Array, Array, Array]
"""Signs, whole bits and fractional bits."""


def config(kind: str, place: str, rounding: str, overflow: str, **options: Any) -> dict[str, Any]:
    said = {
        "q_type": kind,
        "place": place,
        "scaler": None,
        "affine": None,
        "round_mode": rounding,
        "overflow_mode": overflow,
        "trainable": True,
        "is_weight": place == "weight",
        **options,
    }
    return {
        "module": "hgq.quantizer.config",
        "class_name": "QuantizerConfig",
        "config": said,
        "registered_name": "hgq>QuantizerConfig",
    }


INPUT = config("kif", "datalane", "RND", "WRAP")
KERNEL = config("kbi", "weight", "RND", "SAT_SYM")
BIAS = config("kbi", "bias", "RND", "WRAP")


def learned(*shape: int) -> Bits:
    """Bit widths that are not yet rounded, as training leaves them."""
    sign, whole, fraction = RNG.integers(0, 2, shape), RNG.integers(-1, 4, shape), RNG.integers(0, 6, shape)
    off = RNG.uniform(-0.4, 0.4, (2, *shape))
    return sign.astype(np.uint8), (whole + off[0]).astype(np.float32), (fraction + off[1]).astype(np.float32)


def stored(path: str, said: dict[str, Any], bits: Bits) -> dict[str, Array]:
    """The variables of a quantizer: those that are trained come first."""
    sign, whole, fraction = bits
    wraps = said["config"]["overflow_mode"] == "WRAP"
    if said["config"]["q_type"] == "kif":
        order = [fraction, sign, whole] if wraps else [whole, fraction, sign]
    else:
        both = np.rint(whole) + np.rint(fraction)
        order = [both, sign, whole] if wraps else [both, whole, sign]
    extra = [np.float32(0.01)] if wraps else []
    return {f"{path}/quantizer/vars/{i}": np.asarray(x) for i, x in enumerate([*order, *extra])}


ROUNDED = {
    "RND": lambda x: np.floor(x + 0.5),
    "RND_CONV": np.rint,
    "RND_INF": lambda x: np.floor(np.abs(x) + 0.5) * np.sign(x),
    "RND_MIN_INF": lambda x: -np.floor(0.5 - x),
    "RND_ZERO": lambda x: -np.floor(0.5 - np.abs(x)) * np.sign(x),
    "TRN": np.floor,
    "TRN_ZERO": np.trunc,
}


def fixed(x: Array, said: dict[str, Any], bits: Bits) -> Array:
    """The definition, in double precision: what the library does to values, step by step."""
    options = said["config"]
    sign, whole, fraction = bits[0].astype(np.int64), np.rint(bits[1]), np.rint(bits[2])
    step, end = 2.0**-fraction, 2.0 ** np.maximum(whole, -fraction)
    x = x.astype(np.float64) / (options["scaler"] or 1)
    if options["overflow_mode"] != "WRAP":
        low = -sign * (end - step * (options["overflow_mode"] == "SAT_SYM"))
        x = np.clip(x, low, end - step)
    mode = options["round_mode"].removeprefix("S_")
    made = ROUNDED[mode](x / step) * step
    free = options["overflow_mode"] == "WRAP" and options["is_weight"]
    if not (free and (options["q_type"] == "kif" or mode == "RND")):
        if options["overflow_mode"] == "WRAP":
            made = (made + sign * end) % (end * 2.0**sign) - sign * end
        made = np.where(sign + whole + fraction > 0, made, 0)
    factor, offset = options["affine"] or (1, 0)
    return np.asarray(made * (options["scaler"] or 1) * factor + offset, np.float32)


def layer(kind: str, name: str, sources: Sequence[str], module: str = "layers.core.dense", **options: Any) -> Any:
    said = {
        "module": f"hgq.{module}",
        "class_name": kind,
        "config": {"name": name, "trainable": True, "dtype": "float32", "enable_iq": True, "enable_oq": False}
        | options,
        "registered_name": f"hgq>{kind}",
    }
    tensors = [tensor(source) for source in sources]
    return called(said, tensors if len(tensors) > 1 else tensors[0])


def one(said: Any, weights: Mapping[str, Array], *shape: int) -> bytes:
    net = functional([given("x", *shape), said], [["x", 0, 0]], [[said["name"], 0, 0]])
    return keras_file(net, weights)


def some(*shape: int, size: float = 4.0) -> Array:
    return RNG.normal(0, size, shape).astype(np.float32)


@pytest.mark.parametrize("overflow", ["WRAP", "SAT", "SAT_SYM"])
def test_quantizers(overflow: str) -> None:
    """Every rounding mode, with other bits for each element, in NumPy and in C."""
    modes, kinds = [*ROUNDED, "S_RND"], ("kif", "kbi")
    confs = [config(kind, "datalane", mode, overflow) for mode in modes for kind in kinds]
    confs += [config(kind, "weight", mode, overflow) for mode in ("RND", "S_RND", "TRN") for kind in kinds]
    confs.append(config("kif", "datalane", "RND", overflow, scaler=0.7, affine=[2.0, 0.25]))
    bits = [learned(1, 6, 5) for _ in confs]
    layers, weights = [given("x", 6, 5)], {}
    for i, (conf, own) in enumerate(zip(confs, bits, strict=True)):
        layers.append(layer("Quantizer", f"q{i}", ["x"], "quantizer.quantizer", config=conf))
        weights |= stored(f"layers/quantizer{f'_{i}' if i else ''}", conf, own)
    data = keras_file(functional(layers, [["x", 0, 0]], [[f"q{i}", 0, 0] for i in range(len(confs))]), weights)
    x = some(1, 6, 5)
    x[0, 0] = [0, 0.5, -0.5, 1.25, -1.25]
    wanted = [fixed(x, conf, own) for conf, own in zip(confs, bits, strict=True)]
    in_c = mote.run(mote.compile(data), x, layers=False).values.values()
    for conf, found, compiled, value in zip(confs, evaluated(data, x), in_c, wanted, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-6, atol=1e-6, err_msg=str(conf["config"]))
        np.testing.assert_array_equal(compiled, found)


def test_layers() -> None:
    """A convolution without a bias, a normalization, and a product with a quantized result."""
    kif = config("kif", "datalane", "RND", "SAT")
    window = {"kernel_size": [3, 3], "strides": [1, 1], "padding": "valid", "groups": 1}
    parts = {"kq_conf": KERNEL, "bq_conf": BIAS, "iq_conf": INPUT}
    layers = [
        given("x", 5, 5, 2),
        layer(
            *("QConv2D", "c", ["x"], "layers.conv"),
            filters=3,
            use_bias=False,
            activation="relu",
            **window,
            **parts | {"bq_conf": None},
        ),
        layer("QBatchNormalization", "n", ["c"], "layers.batch_normalization", axis=-1, epsilon=1e-3, **parts),
        layer("QAdd", "a", ["c", "n"], "layers.ops.merge", iq_confs=[INPUT, INPUT]),
        called(
            {"module": "keras.layers", "class_name": "Flatten", "config": {"name": "f"}, "registered_name": None},
            tensor("a"),
        ),
        layer(
            *("QDense", "d", ["f"]),
            units=4,
            use_bias=True,
            activation="linear",
            **parts | {"enable_oq": True, "oq_conf": kif},
        ),
    ]
    arrays = {
        "layers/q_conv2d/vars/0": some(3, 3, 2, 3, size=1),
        **{f"layers/q_batch_normalization/vars/{i}": np.abs(some(3, size=1)) + 0.2 for i in range(4)},
        "layers/q_dense/vars/0": some(27, 4, size=1),
        "layers/q_dense/vars/1": some(4, size=1),
        "layers/q_dense/vars/2": np.float32(1e-5),
        "layers/q_dense/vars/3": np.int64(672),
    }
    quantizers = {
        "layers/q_conv2d/iq": (INPUT, learned(1, 5, 5, 2)),
        "layers/q_conv2d/kq": (KERNEL, learned(3, 3, 2, 3)),
        "layers/q_batch_normalization/iq": (INPUT, learned(1, 3, 3, 3)),
        "layers/q_batch_normalization/kq": (KERNEL, learned(3)),
        "layers/q_batch_normalization/bq": (BIAS, learned(3)),
        "layers/q_add/iq/quantizers/quantizer": (INPUT, learned(1, 3, 3, 1)),
        "layers/q_add/iq/quantizers/quantizer_1": (INPUT, learned(1, 1, 1, 3)),
        "layers/q_dense/iq": (INPUT, learned(1, 27)),
        "layers/q_dense/kq": (KERNEL, learned(27, 4)),
        "layers/q_dense/bq": (BIAS, learned(4)),
        "layers/q_dense/oq": (kif, learned(1, 4)),
    }
    weights = dict(arrays)
    for path, (conf, bits) in quantizers.items():
        weights |= stored(path, conf, bits)
    data = keras_file(functional(layers, [["x", 0, 0]], [["d", 0, 0]]), weights)

    def on(x: Array, path: str) -> Array:
        return fixed(x, *quantizers[f"layers/{path}"])

    x = some(1, 5, 5, 2)
    conv = np.maximum(convolved(on(x, "q_conv2d/iq"), on(arrays["layers/q_conv2d/vars/0"], "q_conv2d/kq")), 0)
    gamma, beta, mean, variance = (arrays[f"layers/q_batch_normalization/vars/{i}"] for i in range(4))
    factor = gamma / np.sqrt(variance + np.float32(1e-3))
    norm = on(conv, "q_batch_normalization/iq") * on(factor, "q_batch_normalization/kq")
    norm += on(beta - mean * factor, "q_batch_normalization/bq")
    total = on(conv, "q_add/iq/quantizers/quantizer") + on(norm, "q_add/iq/quantizers/quantizer_1")
    flat = on(total.reshape(1, 27), "q_dense/iq") @ on(arrays["layers/q_dense/vars/0"], "q_dense/kq")
    wanted = on(flat + on(arrays["layers/q_dense/vars/1"], "q_dense/bq"), "q_dense/oq")
    (found,) = evaluated(data, x)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    (compiled,) = mote.run(mote.compile(data), x, layers=False).values.values()
    np.testing.assert_allclose(compiled, wanted, rtol=1e-6, atol=1e-6)


def test_saturating_grids_are_computed_with_integers() -> None:
    """A convolution, its activation, max pooling and a product, on grids of one step for a tensor."""
    even = config("kif", "datalane", "RND_CONV", "SAT")
    parts = {"kq_conf": KERNEL, "bq_conf": BIAS, "iq_conf": even, "use_bias": True}
    window = {"kernel_size": [3, 3], "strides": [1, 1], "padding": "valid", "groups": 1}
    pool = {"pool_size": [2, 2], "strides": [2, 2], "padding": "valid", "iq_conf": even}
    flat = {"module": "keras.layers", "class_name": "Flatten", "config": {"name": "f"}, "registered_name": None}
    layers = [
        given("x", 6, 6, 2),
        layer("QConv2D", "c", ["x"], "layers.conv", filters=3, activation="relu", **window, **parts),
        layer("QMaxPooling2D", "p", ["c"], "layers.pooling", **pool),
        called(flat, tensor("p")),
        layer("QDense", "d", ["f"], units=4, activation="linear", **parts, enable_oq=True, oq_conf=even),
    ]
    arrays = {
        "layers/q_conv2d/vars/0": some(3, 3, 2, 3, size=1),
        "layers/q_conv2d/vars/1": some(3, size=1),
        "layers/q_dense/vars/0": some(12, 4, size=1),
        "layers/q_dense/vars/1": some(4, size=1),
    }

    def bits(whole: float, fraction: float, *shape: int) -> Bits:
        return np.ones(shape, np.uint8), np.full(shape, whole, np.float32), np.full(shape, fraction, np.float32)

    quantizers = {
        "q_conv2d/iq": (even, bits(2, 4, 1, 1, 1, 1)),
        "q_conv2d/kq": (KERNEL, bits(1, 3, 3, 3, 2, 3)),
        "q_conv2d/bq": (BIAS, bits(3, 4, 3)),
        "q_max_pooling2d/iq": (even, bits(4, 3, 1, 1, 1, 1)),
        "q_dense/iq": (even, bits(4, 2, 1, 1)),
        "q_dense/kq": (KERNEL, bits(1, 3, 12, 4)),
        "q_dense/bq": (BIAS, bits(3, 4, 4)),
        "q_dense/oq": (even, bits(5, 2, 1, 1)),
    }
    weights = dict(arrays)
    for path, (conf, own) in quantizers.items():
        weights |= stored(f"layers/{path}", conf, own)
    compiled = mote.compile(keras_file(functional(layers, [["x", 0, 0]], [["d", 0, 0]]), weights))
    graph = compiled.plan.graph
    kinds = {op.kind: str(graph.tensors[op.outputs[0]].dtype) for op in graph.ops}
    assert {kinds[kind] for kind in ("CONV_2D", "MAX_POOL_2D", "FULLY_CONNECTED")} == {"int8"}

    def on(x: Array, path: str) -> Array:
        return fixed(x, *quantizers[path])

    x = some(1, 6, 6, 2, size=2)
    own = [
        on(arrays[f"layers/{name}/vars/{i}"], f"{name}/{'kb'[i]}q") for name in ("q_conv2d", "q_dense") for i in (0, 1)
    ]
    y = on(np.maximum(convolved(on(x, "q_conv2d/iq"), own[0]) + own[1], 0), "q_max_pooling2d/iq")
    y = y.reshape(1, 2, 2, 2, 2, 3).max(axis=(2, 4)).reshape(1, 12)
    wanted = on(on(y, "q_dense/iq") @ own[2] + own[3], "q_dense/oq")
    (found,) = mote.run(compiled, x, layers=False).values.values()
    np.testing.assert_array_equal(found, wanted)
    assert len(np.unique(wanted)) > 1 and np.count_nonzero(y) > 3


def test_softmax_from_tables() -> None:
    table = config("kbi", "table", "RND_CONV", "SAT")
    confs = {"exp_iq_conf": INPUT, "exp_oq_conf": table, "inv_iq_conf": INPUT, "inv_oq_conf": table}
    said = layer("QSoftmax", "s", ["x"], "layers.softmax", axes=[1], stable=True, input_scaler=1.0, enable_iq=False)
    said["config"] |= confs
    small = [np.full((1, 1), n, np.float32) for n in (4, 5)]
    bits = np.zeros((1, 1), np.uint8), small[0], small[1]
    places = ("exp_table/iq", "exp_table/oq", "inv_table/iq", "inv_table/oq")
    weights: dict[str, Array] = {}
    for place, conf in zip(places, confs.values(), strict=True):
        weights |= stored(f"layers/q_softmax/{place}", conf, bits)
    x = some(1, 6, size=1)
    powers = fixed(np.exp(-fixed(x.max() - x, INPUT, bits)), table, bits)
    inverse = fixed(1 / (fixed(powers.sum(keepdims=True), INPUT, bits) + 1e-7), table, bits)
    np.testing.assert_allclose(evaluated(one(said, weights, 6), x)[0], powers * inverse, rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "conf", "error"),
    [
        ("Quantizer", config("float", "datalane", "RND", "WRAP"), "type 'float'\n  help: use a quantizer of the type"),
        ("Quantizer", config("kif", "datalane", "RND", "WRAP_SM"), "WRAP_SM\n  help: use one of the overflow modes"),
        ("Quantizer", INPUT, "lacks the bit widths of its quantizer config\n  help: save the model with"),
        ("QGRU", INPUT, "QGRU of HGQ is not supported\n  help: build that part"),
    ],
)
def test_what_cannot_be_read_is_said_with_a_remedy(kind: str, conf: dict[str, Any], error: str) -> None:
    with pytest.raises(MoteError, match=f"layer 0 {kind} 'q': .*{error}"):
        load(one(layer(kind, "q", ["x"], config=conf), {}, 4))


def test_bit_widths_that_do_not_fit_are_refused() -> None:
    for bits, error in (
        (learned(1, 3), r"bit widths of \(1, 3\) do not fit a value of \(1, 4\)"),
        (tuple(x * 0 + 200 for x in learned(1)), "and more"),
    ):
        data = one(layer("Quantizer", "q", ["x"], config=INPUT), stored("layers/quantizer", INPUT, bits), 4)
        with pytest.raises(MoteError, match=error):
            load(data)
