"""Attention layers: Attention, AdditiveAttention, MultiHeadAttention and GroupQueryAttention."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from math import sqrt

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise as e
from mote.frontends.build import matrix, moves, norms, reductions
from mote.frontends.build.builder import Builder, Value
from mote.frontends.keras.call import LayerCall, Parser, Results
from mote.frontends.keras.config import LayerConfig
from mote.frontends.keras.masks import as_numbers
from mote.ir.graph.types import DType

NEVER = 1e9
"""Penalty that Keras subtracts from the scores of masked positions."""


def _sequences(call: LayerCall) -> tuple[Value, Value, Value]:
    """Queries, keys and values, each [batch, steps, channels]."""
    query, value, key = call.x, call.argument("value", 1), call.argument("key", 2)
    key = value if key is None else key
    if not (isinstance(value, Value) and isinstance(key, Value)) or {query.rank, value.rank, key.rank} != {3}:
        raise UnsupportedNodeError("attention is only supported for sequences of vectors")
    return query, key, value


def _inside(call: LayerCall, part: str) -> LayerConfig:
    """A dense sublayer, which attention classes store under a public or a private name."""
    said = {"class_name": "EinsumDense", "config": {"name": f"{call.layer.name}/{part}"}}
    candidates = [call.layer.child(name, said) for name in (part, f"_{part}")]
    return next((layer for layer in candidates if f"{layer.path}vars/0" in layer.weights), candidates[0])


def _projected(call: LayerCall, x: Value, part: str, heads: int, size: int) -> Value:
    """Projection of [batch, steps, channels] to [batch, steps, heads, size] by a dense sublayer."""
    layer = _inside(call, part)
    kernel = layer.weight(0, (x.shape[-1], heads, size), "kernel")
    bias = layer.weight(1, (heads, size), "bias") if call.layer.flag("use_bias", True) else None
    made = matrix.linear(
        call.b, x, kernel.reshape(x.shape[-1], heads * size), None if bias is None else bias.reshape(-1)
    )
    return moves.reshape(call.b, made, (*x.shape[:-1], heads, size))


def _joined(call: LayerCall, x: Value) -> Value:
    """Output projection of [batch, steps, heads, size] to [batch, steps, channels]."""
    *outer, heads, size = x.shape
    layer = _inside(call, "output_dense")
    kernel = layer.weight(0, (heads, size, None), "output kernel")
    channels = kernel.shape[-1]
    bias = layer.weight(1, (channels,), "output bias") if call.layer.flag("use_bias", True) else None
    flat = moves.reshape(call.b, x, (*outer, heads * size))
    return matrix.linear(call.b, flat, kernel.reshape(heads * size, channels), bias)


def _attended(call: LayerCall, query: Value, key: Value, value: Value, scale: float) -> tuple[Value, Value]:
    """Attention output for each head, and the attention weights; all operands are [batch, steps, heads, size]."""
    b = call.b
    q, k, v = (moves.transpose(b, x, (0, 2, 1, 3)) for x in (query, key, value))
    scores = matrix.matmul(b, e.scaled(b, q, scale), moves.transpose(b, k, (0, 1, 3, 2)))
    weights = norms.softmax(b, _of_steps(call, _masked(call, scores)))
    return moves.transpose(b, matrix.matmul(b, weights, v), (0, 2, 1, 3)), weights


def _of_steps(call: LayerCall, scores: Value) -> Value:
    """Scores [batch, heads, queries, keys] with masked key steps excluded."""
    b, own = call.b, call.masks.get(call.x)
    seen = [] if own is None else [moves.reshape(b, own, (own.shape[0], 1, -1, 1))]
    for part, place in (("value", 1), ("key", 2)):
        given = call.kwargs.get(f"{part}_mask")
        mask = call.masks.get(call.argument(part, place)) if given is None else given
        if mask is not None:
            if not isinstance(mask, Value):
                raise UnsupportedNodeError(f"a {part}_mask that is not a tensor is not supported")
            seen.append(moves.reshape(b, mask, (mask.shape[0], 1, 1, -1)))
    if not seen:
        return scores
    return e.where(b, reduce(lambda x, y: e.logical_and(b, x, y), seen), scores, e.scalar(b, -NEVER))


def _masked(call: LayerCall, scores: Value) -> Value:
    """Scores with masked positions excluded: by a given mask, a causal one, or a window."""
    b = call.b
    seen: Value | None = call.kwargs.get("attention_mask")
    rows, columns = scores.shape[-2:]
    known = np.ones((rows, columns), bool)
    if call.kwargs.get("use_causal_mask") or call.layer.options.get("causal"):
        known &= np.tri(rows, columns, dtype=bool)
    window = call.layer.options.get("sliding_window")
    if isinstance(window, int):
        known &= np.abs(np.arange(rows, dtype=np.int64)[:, None] - np.arange(columns, dtype=np.int64)) < window
    if not known.all():
        scores = e.add(b, scores, b.constant(np.where(known, 0, -NEVER).astype(np.float32)))
    if seen is None:
        return scores
    if not isinstance(seen, Value):
        raise UnsupportedNodeError("an attention mask that is not a tensor is not supported")
    wide = moves.unsqueeze(b, seen, [1]) if seen.rank == 3 else seen
    hidden = e.scaled(b, e.cast(b, e.cast(b, wide, DType.BOOL), DType.FLOAT32), NEVER, -NEVER)
    return e.add(b, scores, hidden)


def multi_head(call: LayerCall) -> Results:
    layer, (query, key, value) = call.layer, _sequences(call)
    axes = layer.get("attention_axes", None)
    if axes not in (None, 1, [1]):
        raise UnsupportedNodeError(f"attention along the axes {axes} is not supported")
    heads, size = layer.integer("num_heads"), layer.integer("key_dim")
    depth = size if layer.get("value_dim", None) is None else layer.integer("value_dim")
    q = _projected(call, query, "query_dense", heads, size)
    k = _projected(call, key, "key_dense", heads, size)
    v = _projected(call, value, "value_dense", heads, depth)
    return _finished(call, query, *_attended(call, q, k, v, 1 / sqrt(size)))


def grouped_query(call: LayerCall) -> Results:
    """Several heads of queries for each head of keys and values."""
    layer, (query, key, value) = call.layer, _sequences(call)
    heads, few, size = (layer.integer(o) for o in ("num_query_heads", "num_key_value_heads", "head_dim"))
    if few < 1 or heads % few:
        raise UnsupportedNodeError(f"{heads} heads of queries do not fit {few} of keys")
    q = _projected(call, query, "query_dense", heads, size)
    k = _repeated(call.b, _projected(call, key, "key_dense", few, size), heads // few)
    v = _repeated(call.b, _projected(call, value, "value_dense", few, size), heads // few)
    return _finished(call, query, *_attended(call, q, k, v, 1 / sqrt(size)))


def _repeated(b: Builder, x: Value, times: int) -> Value:
    """Each head repeated several times."""
    if times == 1:
        return x
    n, steps, heads, size = x.shape
    wide = moves.expand(b, moves.unsqueeze(b, x, [3]), (n, steps, heads, times, size))
    return moves.reshape(b, wide, (n, steps, heads * times, size))


def _finished(call: LayerCall, query: Value, made: Value, weights: Value) -> Results:
    """The result has the mask of the queries. Keras drops the masks of the layer's inputs for the layers after it."""
    if call.layer.options.get("use_gate"):
        *_, heads, size = made.shape
        gate = e.sigmoid(call.b, _projected(call, query, "gate_dense", heads, size))
        made = e.mul(call.b, made, gate)
    joined = _joined(call, made)
    if (mask := call.masks.get(query)) is not None:
        call.made[joined] = mask
    for given in (query, call.argument("value", 1), call.argument("key", 2)):
        call.masks.pop(given, None)
    return [joined, weights] if call.kwargs.get("return_attention_scores") else joined


def attention(call: LayerCall) -> Results:
    """Dot-product or additive attention, without projections."""
    layer, b, values = call.layer, call.b, call.values
    if len(values) not in (2, 3) or {v.rank for v in values} != {3}:
        raise UnsupportedNodeError("attention is only supported for two or three sequences of vectors")
    query, value = values[:2]
    key = values[2] if len(values) == 3 else value
    scaled = layer.flag("use_scale", False)
    additive = layer.kind == "AdditiveAttention"
    if additive or layer.text("score_mode", "dot") == "concat":
        scores = _concatenated(call, query, key, additive, scaled)
    else:
        scores = matrix.matmul(b, query, moves.transpose(b, key, (0, 2, 1)))
        scores = e.scaled(b, scores, float(call.weight(0, (), "scale"))) if scaled else scores
    given = call.kwargs.get("mask")
    masks = list(given) if isinstance(given, list) else [call.masks.get(v) for v in values]
    scores = _masked(call, scores)
    if len(masks) > 1 and isinstance(masks[1], Value):
        hidden = e.scaled(b, as_numbers(call, masks[1]), NEVER, -NEVER)
        scores = e.add(b, scores, moves.unsqueeze(b, hidden, [1]))
    weights = norms.softmax(b, scores)
    made = matrix.matmul(b, weights, value)
    if masks and isinstance(masks[0], Value):
        made = e.mul(b, made, moves.unsqueeze(b, as_numbers(call, masks[0]), [2]))
        call.made[made] = masks[0]
    return [made, weights] if call.kwargs.get("return_attention_scores") else made


def _concatenated(call: LayerCall, query: Value, key: Value, additive: bool, scaled: bool) -> Value:
    """Additive scores: sums of tanh(query + key)."""
    b = call.b
    sums = e.add(b, moves.unsqueeze(b, query, [2]), moves.unsqueeze(b, key, [1]))
    if additive:
        scores = e.tanh(b, sums)
        scores = e.mul(b, scores, b.constant(call.weight(0, (query.shape[-1],), "scale"))) if scaled else scores
        return reductions.sum_(b, scores, [-1], False)
    sums = e.scaled(b, sums, float(call.weight(0, (), "scale"))) if scaled else sums
    total = reductions.sum_(b, e.tanh(b, sums), [-1], False)
    return e.scaled(b, total, float(call.weight(int(scaled), (), "weight of scores")))


LAYERS: Mapping[str, Parser] = {
    "AdditiveAttention": attention,
    "Attention": attention,
    "GroupedQueryAttention": grouped_query,
    "GroupQueryAttention": grouped_query,
    "MultiHeadAttention": multi_head,
}
