"""Whether data has the scale that a model was trained or calibrated for. Pixels from 0 to 255 for a model that was
trained on 0 to 1 give low accuracy and no error, so that a warning names the factor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mote.frontends.data.dataset_type import Dataset
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.ops.elementwise.quantize import QUANTIZED, dequantized

MOST_SAMPLES = 256
"""Samples, from all over the data, that the range is taken of."""
FEW_SAMPLES = 16
"""The fewest samples that are expected to span the range of a model's input."""
LARGE, SMALL = 2.5, 0.55
"""Data whose range is so many times that of the model's input is warned of."""
OUTLIERS = 0.1
"""Percent of the values at either end that are not counted as range."""
NORMALIZED_SAMPLES = 8
NORMALIZED = 20.0
"""How far from 1 the standard deviation behind a batch normalization may be, as a factor: learned scales are near 1."""


def scale_warnings(graph: Graph, data: Dataset) -> tuple[str, ...]:
    """Warn of each input whose data has another scale than the model was made for, as far as the model tells: by the
    quantization of the input, or by the batch normalization behind the first layer."""
    chosen = np.unique(np.linspace(0, len(data) - 1, min(len(data), MOST_SAMPLES)).astype(int))
    warnings = [_warning(graph, tensor, array[chosen], len(data)) for tensor, array in _inputs(graph, data)]
    return tuple(filter(None, warnings))


def _inputs(graph: Graph, data: Dataset) -> Iterator[tuple[Tensor, Array]]:
    tensors = [graph.tensors[t] for t in graph.inputs]
    named = {t.name: t for t in tensors}
    for i, (name, array) in enumerate(data.inputs.items()):
        if array.size and np.isfinite(array).all():
            yield named.get(name, tensors[min(i, len(tensors) - 1)]), array


def _warning(graph: Graph, tensor: Tensor, values: Array, samples: int) -> str:
    if values.dtype.kind != "f" and tensor.dtype in QUANTIZED:
        return ""  # these are the model's own integers
    low, high = (float(x) for x in np.percentile(values, (OUTLIERS, 100 - OUTLIERS)))
    known = _calibrated(graph, tensor)
    if known is not None:
        return _against_range(tensor.name, (low, high), known, samples)
    factor = _normalization(graph, tensor, values)
    if factor is not None and not 1 / NORMALIZED < factor < NORMALIZED:
        much = f"about {factor:,.0f} times too large" if factor > 1 else f"about {1 / factor:,.0f} times too small"
        return (
            f"the data of input '{tensor.name}' ({low:g} to {high:g}) looks {much}: values behind the first batch"
            " normalization have that many times the standard deviation of training; scale the data as in training"
            f"{' (--preprocess scale=1/255)' if _are_pixels(values) else ''}"
        )
    if factor is None and _are_pixels(values):
        return (
            f"the data of input '{tensor.name}' looks like pixels from 0 to 255, which the model is given as they are:"
            " where it was trained on other values, scale them as in training (--preprocess scale=1/255)"
        )
    return ""


def _are_pixels(values: Array) -> bool:
    return bool(values.min() >= 0 and 128 < values.max() <= 255 and (values == np.floor(values)).all())


def _calibrated(graph: Graph, tensor: Tensor) -> tuple[float, float] | None:
    """The range that an input was quantized for, by itself or by a QUANTIZE that it goes to."""
    readers = [op.outputs[0] for op in graph.ops if tensor.id in op.inputs and op.kind == "QUANTIZE"]
    for t in (tensor, *(graph.tensors[i] for i in readers)):
        if t.quant is not None and t.dtype in QUANTIZED and t.quant.scale.size == 1:
            low, high = dequantized(np.array(t.dtype.limits, t.dtype.numpy), t)
            return float(low), float(high)
    return None


def _against_range(name: str, data: tuple[float, float], model: tuple[float, float], samples: int) -> str:
    span, wanted = data[1] - data[0], model[1] - model[0]
    if span <= 0 or wanted <= 0:
        return ""
    factor = span / wanted
    if factor < LARGE and (factor > SMALL or samples < FEW_SAMPLES):
        return ""
    scale = wanted / span
    offset = model[0] - data[0] * scale
    steps = f"scale={_factor(scale)}" + (f",offset={offset:.4g}" if abs(offset) > 0.1 * wanted else "")
    much = f"{factor:.3g} times" if factor > 1 else f"{factor:.0%} of"
    return (
        f"the data of input '{name}' goes from {data[0]:.4g} to {data[1]:.4g}, {much} the range that the model was"
        f" calibrated for, {model[0]:.4g} to {model[1]:.4g}: scale it as in training (--preprocess {steps} would bring"
        " it there)"
    )


def _factor(scale: float) -> str:
    """A factor as people write it: 1/255 rather than 0.003922."""
    inverse = round(1 / scale)
    return f"1/{inverse}" if inverse > 1 and abs(inverse * scale - 1) < 0.01 else f"{scale:.4g}"


def _normalization(graph: Graph, tensor: Tensor, values: Array) -> float | None:
    """The standard deviation behind the first batch normalization, the median of its channels; None: there is none."""
    end = _first_normalization(graph, tensor)
    if end is None or len(graph.inputs) != 1:
        return None
    prefix = replace(graph, ops=graph.ops[: graph.ops.index(end) + 1], outputs=end.outputs)
    size = tensor.size
    chosen = values[:: max(1, len(values) // NORMALIZED_SAMPLES)][:NORMALIZED_SAMPLES].astype(np.float32)
    if chosen[0].size != size:
        return None
    made = [prefix.evaluate({tensor.id: sample.reshape(tensor.shape)})[end.outputs[0]] for sample in chosen]
    channels = np.concatenate([x.reshape(-1, x.shape[-1]) for x in made])
    return float(np.median(channels.std(axis=0)))


def _first_normalization(graph: Graph, tensor: Tensor) -> Op | None:
    """The ADD of the first batch normalization behind a layer with weights: a MUL and an ADD of constants for each
    channel."""
    reached, seen = tensor.id, False
    while (op := graph.only_consumer(reached)) is not None:
        others = (op.tensor(graph, position) for position in range(1, len(op.inputs)))
        per_channel = any(t is not None and t.data is not None and t.size > 1 for t in others)
        if op.kind == "MUL" and seen and per_channel:
            after = graph.only_consumer(op.outputs[0])
            return after if after is not None and after.kind == "ADD" else op
        if seen and op.macs(graph):
            return None
        seen = seen or op.macs(graph) > 0
        reached = op.outputs[0]
    return None
