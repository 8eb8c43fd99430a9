"""Small int8 transformers with random weights, as the TFLite converter writes them: an encoder, a decoder, and the
decoder as a step that takes one token and keeps keys and values in variables.

Every operator is computed in real numbers on a batch of random sequences when it is added, and its scale follows from
what came out, as in `quantize`: no activation dies out or saturates. Layer norms are written out as converters do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.frontends.tflite.writer import Writer
from reference_quantizer import Array, activation_quantization, quantize_array, weight_scales

MASKED = -12.0
"""What is added to the scores of what must not be seen: enough for nothing to be left of it in 8 bits."""
UNIT = (1 / 256, -128)
"""The quantization of results from 0 to 1."""


@dataclass(frozen=True)
class Shape:
    """What the networks of this file are made from."""

    length: int = 32
    """Tokens of a sequence."""
    width: int = 64
    heads: int = 4
    layers: int = 2
    hidden: int = 128
    """The width inside of feed-forward layers."""
    words: int = 96
    """Tokens that there are."""
    classes: int = 8
    batch: int = 4
    """Sequences that the scales are found on."""
    seed: int = 0


USUAL = Shape()


@dataclass(frozen=True)
class Value:
    """A tensor of the file, and what it is on the batch."""

    tensor: int
    real: Array
    quant: tuple[float, int]


@dataclass
class Builder:
    """A model as it grows: methods add an operator and return its result."""

    name: str
    shape: Shape
    constants: dict[bytes, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.shape.seed)
        self.writer = Writer(self.name)
        self.once: Writer | None = None
        self.count = 0

    def indices(self, name: str, shape: Sequence[int], real: Array) -> Value:
        """An input of int32 numbers."""
        return Value(self.writer.input(name, (1, *shape), "int32"), real, (1.0, 0))

    def constant(self, real: Array, name: str = "constant") -> Value:
        quant = activation_quantization(float(real.min()), float(real.max()))
        return Value(self.writer.const(name, quantize_array(real, *quant), *quant), real, quant)

    def ints(self, *values: int) -> int:
        array = np.array(values, np.int32)
        if array.tobytes() not in self.constants:
            self.constants[array.tobytes()] = self.writer.const("ints", array)
        return self.constants[array.tobytes()]

    def op(
        self,
        kind: str,
        operands: Sequence[Value | int],
        real: Array,
        quant: tuple[float, int] | None = None,
        **options: Any,
    ) -> Value:
        """Any operator; without `quant` the scale of its result follows from the values."""
        quant = quant or activation_quantization(float(real.min()), float(real.max()))
        self.count += 1
        y = self.writer.tensor(f"{self.count}_{kind.lower()}", (1, *real.shape[1:]), "int8", *quant)
        self.writer.op(kind, [x if isinstance(x, int) else x.tensor for x in operands], [y], **options)
        return Value(y, real, quant)

    def weights(self, *shape: int) -> Array:
        return self.rng.normal(0, shape[-1] ** -0.5, shape)

    def lookup(self, table: Value, tokens: Value) -> Value:
        """Rows of a table that stays where constants are."""
        real = table.real[tokens.real.astype(np.int64)]
        return self.op("GATHER", [table, tokens], real, table.quant, axis=0)

    def dense(self, x: Value, outputs: int, activation: str = "NONE") -> Value:
        w, b = self.weights(outputs, x.real.shape[-1]), self.rng.normal(0, 0.1, outputs)
        y = x.real @ w.T + b
        y = np.maximum(y, 0) if activation == "RELU" else y
        scale = weight_scales(w, None)
        codes = np.clip(np.round(w / scale), -127, 127).astype(np.int8)
        bias_scale = np.float32(x.quant[0]) * scale.astype(np.float32)
        bias = np.round(b / bias_scale.astype(np.float64)).astype(np.int32)
        constants = [self.writer.const("weights", codes, scale), self.writer.const("bias", bias, bias_scale)]
        return self.op("FULLY_CONNECTED", [x, *constants], y, fused_activation_function=activation, keep_num_dims=True)

    def binary(self, kind: str, a: Value, b: Value) -> Value:
        functions = {"ADD": np.add, "SUB": np.subtract, "MUL": np.multiply}
        real = functions[kind](a.real, b.real) if kind in functions else (a.real - b.real) ** 2
        return self.op(kind, [a, b], real)

    def mean(self, x: Value, axis: int = -1, *, keep_dims: bool = True) -> Value:
        """With room for the noise of 8 bits, of which means of narrow ranges are full."""
        real = x.real.mean(axis, keepdims=keep_dims)
        spread = float(real.max() - real.min())
        quant = activation_quantization(float(real.min()) - spread, float(real.max()) + spread)
        return self.op("MEAN", [x, self.ints(axis % x.real.ndim)], real, quant, keep_dims=keep_dims)

    def layer_norm(self, x: Value, *, folded: bool = False) -> Value:
        """(x - mean) / deviation * gain + offset; `folded`: as x * factor + (offset - mean * factor)."""
        width = x.real.shape[-1]
        gain, offset = self.constant(self.rng.uniform(0.7, 1.3, width)), self.constant(self.rng.normal(0, 0.2, width))
        mean = self.mean(x)
        variance = self.mean(self.binary("SQUARED_DIFFERENCE", x, mean))
        near = self.binary("ADD", variance, self.constant(np.array(1e-3)))
        factor = self.op("RSQRT", [near], near.real**-0.5)
        if folded:
            factor = self.binary("MUL", factor, gain)
            rest = self.binary("SUB", offset, self.binary("MUL", mean, factor))
            return self.binary("ADD", self.binary("MUL", x, factor), rest)
        scaled = self.binary("MUL", self.binary("SUB", x, mean), factor)
        return self.binary("ADD", self.binary("MUL", scaled, gain), offset)

    def reshape(self, x: Value, *shape: int) -> Value:
        real = x.real.reshape(x.real.shape[0], *shape)
        return self.op("RESHAPE", [x, self.ints(1, *shape)], real, x.quant)

    def transpose(self, x: Value, *order: int) -> Value:
        return self.op("TRANSPOSE", [x, self.ints(*order)], x.real.transpose(order), x.quant)

    def split(self, x: Value, *order: int) -> Value:
        """The heads of a tensor, its axes (batch, place, head, element) in this order."""
        _, places, width = x.real.shape
        heads = self.shape.heads
        return self.transpose(self.reshape(x, places, heads, width // heads), *order)

    def product(self, a: Value, b: Value, *, turned: bool = False) -> Value:
        right = b.real.swapaxes(-1, -2) if turned else b.real
        return self.op("BATCH_MATMUL", [a, b], a.real @ right, adj_y=turned, version=2)

    def softmax(self, x: Value) -> Value:
        e = np.exp(x.real - x.real.max(-1, keepdims=True))
        return self.op("SOFTMAX", [x], e / e.sum(-1, keepdims=True), UNIT)

    def attention(self, q: Value, k: Value, v: Value, mask: Value | None = None, *, turned: bool = True) -> Value:
        """What each head of `q` finds in `k` and `v`. Keys are turned by the product, or by the TRANSPOSE before it."""
        width = q.real.shape[-1]
        keys = self.split(k, 0, 2, 1, 3) if turned else self.split(k, 0, 2, 3, 1)
        scores = self.product(self.split(q, 0, 2, 1, 3), keys, turned=turned)
        scores = self.binary("MUL", scores, self.constant(np.array((width / self.shape.heads) ** -0.5)))
        if mask is not None:
            scores = self.binary("ADD", scores, mask)
        found = self.product(self.softmax(scores), self.split(v, 0, 2, 1, 3))
        return self.reshape(self.transpose(found, 0, 2, 1, 3), q.real.shape[1], width)

    def feed_forward(self, x: Value, function: str) -> Value:
        if function == "RELU":
            return self.dense(self.dense(x, self.shape.hidden, "RELU"), self.shape.width)
        wide = self.dense(x, self.shape.hidden)
        real = 0.5 * wide.real * (1 + np.tanh(0.7978845608 * (wide.real + 0.044715 * wide.real**3)))
        return self.dense(self.op("GELU", [wide], real, approximate=True), self.shape.width)

    def embedded(self, tokens: Value, places: Value) -> Value:
        """The words of a table, and where they stand."""
        words = self.constant(self.rng.normal(0, 1, (self.shape.words, self.shape.width)), "words")
        return self.binary("ADD", self.lookup(words, tokens), places)

    def places(self) -> Value:
        return self.constant(self.rng.normal(0, 0.3, (self.shape.length, self.shape.width)), "places")

    def variable(self, name: str, quant: tuple[float, int], lines: int) -> int:
        """A variable of keys or values of a sequence, all of them zero at first; its handle."""
        if self.once is None:
            self.once = self.writer.subgraph("init")
            self.writer.op("CALL_ONCE", [], [], init_subgraph_index=1)
        initial = np.full((1, lines, self.shape.width), quant[1], np.int8)
        given = self.once.const(name, initial, *quant)
        self.once.op("ASSIGN_VARIABLE", [_handle(self.once, name), given], [])
        return _handle(self.writer, name)

    def finish(self, y: Value) -> bytes:
        self.writer.output(y.tensor)
        return self.writer.finish()


def encoder(shape: Shape = USUAL, *, function: str = "GELU") -> bytes:
    """Tokens in, classes out: layer norms before the attention and the feed-forward layers, all tokens see all."""
    b, x = _sequence("encoder", shape)
    for _ in range(shape.layers):
        near = b.layer_norm(x)
        q, k, v = (b.dense(near, shape.width) for _ in range(3))
        x = b.binary("ADD", x, b.dense(b.attention(q, k, v), shape.width))
        x = b.binary("ADD", x, b.feed_forward(b.layer_norm(x), function))
    return b.finish(b.softmax(b.dense(b.mean(b.layer_norm(x), 1, keep_dims=False), shape.classes)))


def decoder(shape: Shape = USUAL, *, function: str = "RELU") -> bytes:
    """Tokens in, how likely each word is to follow each of them: no token sees those behind it. Layer norms are after
    the additions, and folded."""
    b, x = _sequence("decoder", shape)
    unseen = np.where(np.tri(shape.length) > 0, 0.0, MASKED)[None, None]
    mask = b.constant(unseen, "mask")
    for _ in range(shape.layers):
        q, k, v = (b.dense(x, shape.width) for _ in range(3))
        found = b.attention(q, k, v, mask, turned=False)
        x = b.layer_norm(b.binary("ADD", x, b.dense(found, shape.width)), folded=True)
        x = b.layer_norm(b.binary("ADD", x, b.feed_forward(x, function)), folded=True)
    return b.finish(b.dense(x, shape.words))


def listener(shape: Shape = USUAL, *, places: bool = False) -> bytes:
    """Classes of a window of the last tokens: one layer of attention, and what it finds
    for the newest token. With `places` tokens are told apart by where they stand in the window."""
    b = Builder("listener", shape)
    tokens = b.rng.integers(0, shape.words, (shape.batch, shape.length)).astype(np.float64)
    words = b.constant(b.rng.normal(0, 1, (shape.words, shape.width)), "words")
    x = b.lookup(words, b.indices("tokens", (shape.length,), tokens))
    x = b.binary("ADD", x, b.places()) if places else x
    near = b.layer_norm(x)
    q, k, v = (b.dense(near, shape.width) for _ in range(3))
    found = b.binary("ADD", x, b.dense(b.attention(q, k, v), shape.width))
    newest = [b.ints(0, shape.length - 1, 0), b.ints(1, 1, shape.width)]
    return b.finish(b.dense(b.op("SLICE", [found, *newest], found.real[:, -1:], found.quant), shape.classes))


def step(shape: Shape = USUAL, *, window: bool = False) -> bytes:
    """The decoder for one token: inputs are the token and its place, keys and values of those before it are kept in
    variables. With `window` it is told no place, and sees the last tokens, however many there were before them."""
    b = Builder("step", shape)
    count = shape.length
    at = np.arange(count)
    tokens = b.indices("token", (1,), b.rng.integers(0, shape.words, (count, 1)).astype(np.float64))
    words = b.constant(b.rng.normal(0, 1, (shape.words, shape.width)), "words")
    x = b.lookup(words, tokens)
    place, mask, begin = None, None, None
    if not window:
        place = b.indices("place", (1,), at[:, None].astype(np.float64))
        x = b.binary("ADD", x, b.lookup(b.places(), place))
        unseen = b.constant(np.where(np.tri(count) > 0, 0.0, MASKED), "mask")
        mask = b.reshape(b.lookup(unseen, place), 1, 1, count)
        begin = _begin(b, place)
    for layer in range(shape.layers):
        q, k, v = (b.dense(x, shape.width) for _ in range(3))
        keys, values = (_kept(b, f"{name}{layer}", new, begin) for name, new in (("keys", k), ("values", v)))
        found = b.dense(b.attention(q, keys, values, mask), shape.width)
        x = b.layer_norm(b.binary("ADD", x, found))
        x = b.layer_norm(b.binary("ADD", x, b.feed_forward(x, "RELU")))
    return b.finish(b.dense(x, shape.words))


def _sequence(name: str, shape: Shape) -> tuple[Builder, Value]:
    """A model of whole sequences, and its tokens as vectors."""
    b = Builder(name, shape)
    tokens = b.rng.integers(0, shape.words, (shape.batch, shape.length)).astype(np.float64)
    return b, b.embedded(b.indices("tokens", (shape.length,), tokens), b.places())


def _begin(b: Builder, place: Value) -> int:
    """Where the new line of a cache goes: (0, place, 0)."""
    zero, begin = b.ints(0), b.writer.tensor("begin", (3,), "int32")
    flat = b.writer.tensor("at", (1,), "int32")
    b.writer.op("RESHAPE", [place.tensor, b.ints(1)], [flat])
    b.writer.op("CONCATENATION", [zero, flat, zero], [begin], axis=0)
    return begin


def _kept(b: Builder, name: str, new: Value, begin: int | None) -> Value:
    """Keys or values of all tokens so far. In the batch, which is one sequence, each step sees those before it."""
    length, width = b.shape.length, b.shape.width
    lines = new.real[:, 0]
    if begin is None:
        real = np.stack([np.roll(np.where(np.tri(length)[i][:, None] > 0, lines, 0), -1 - i, 0) for i in range(length)])
    else:
        real = np.where(np.tri(length)[:, :, None] > 0, lines[None], 0)
    lines_before = length - 1 if begin is None else length
    handle = b.variable(name, new.quant, lines_before)
    old = b.writer.tensor(f"{name}_before", (1, lines_before, width), "int8", *new.quant)
    b.writer.op("READ_VARIABLE", [handle], [old])
    if begin is not None:
        kept = b.op("DYNAMIC_UPDATE_SLICE", [old, new, begin], real, new.quant)
        b.writer.op("ASSIGN_VARIABLE", [handle, kept.tensor], [])
        return kept
    kept = b.op("CONCATENATION", [old, new], real, new.quant, axis=1)
    ends = [b.ints(0, 1, 0), b.ints(1, length, width), b.ints(1, 1, 1)]
    b.writer.op("ASSIGN_VARIABLE", [handle, b.op("STRIDED_SLICE", [kept, *ends], real[:, 1:], new.quant).tensor], [])
    return kept


def _handle(w: Writer, name: str) -> int:
    """A tensor that stands for a variable."""
    t = w.tensor(name, (), "resource")
    w.op("VAR_HANDLE", [], [t], container="", shared_name=name)
    return t


def alive(values: NDArray[np.int8]) -> bool:
    """Whether int8 values neither are all the same nor mostly saturate."""
    return len(np.unique(values)) > 1 and float(np.mean(np.isin(values, [-128, 127]))) < 0.6
