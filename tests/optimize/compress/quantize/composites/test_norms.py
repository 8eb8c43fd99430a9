"""Normalizations as integers: LiteRT gives the same, and little of the signal is lost."""

from __future__ import annotations

import numpy as np
import pytest

from mote.frontends import tflite
from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.types import DType
from mote.ir.ops.reductions.layer_norm import RootMeanSquare, Standardize
from mote.optimize.compress.quantize.types.precision import Precision
from tests.helpers.float_nets import Case, cases, check_litert
from tests.helpers.support import check, needs_litert
from tests.optimize.compress.quantize.composites.float_layers import Layers, noises, quantized


def norm(layers: Layers, kind: type[Op], *shape: int, scaled: bool = True, biased: bool = True) -> None:
    """Vectors of very different sizes, a constant one among them."""
    x = layers.input(*shape)
    given = [layers.real(shape[-1]) if wanted else ABSENT for wanted in (scaled, biased)]
    layers.outputs.append(layers.add(kind, [x, *given], shape, epsilon=1e-5))


NORMS = (
    (Standardize, (1, 5, 24), True, True),
    (Standardize, (2, 16), True, False),
    (Standardize, (1, 3, 17), False, True),
    (RootMeanSquare, (1, 6, 20), True, False),
    (RootMeanSquare, (3, 8), False, False),
)


def norms() -> Graph:
    layers = Layers(4)
    for kind, shape, scaled, biased in NORMS:
        norm(layers, kind, *shape, scaled=scaled, biased=biased)
    return layers.graph()


def vectors(graph: Graph, count: int, seed: int = 0) -> list[Case]:
    """Inputs whose vectors differ in size and mean; one is constant."""
    rng = np.random.default_rng(seed)
    found = cases(graph, count, seed)
    for case in found:
        for t, x in case.items():
            lines = (*x.shape[:-1], 1)
            case[t] = (x * rng.uniform(0.3, 3, lines) + rng.normal(size=lines)).astype(np.float32)
    found[0] = {t: np.full_like(x, 0.7) for t, x in found[0].items()}
    return found


@pytest.mark.slow
@needs_litert
@pytest.mark.parametrize("precision", [Precision.INT8, Precision.INT16])
def test_norms_are_equal_to_litert(precision: Precision) -> None:
    graph = norms()
    samples = vectors(graph, 24)
    found = quantized(graph, samples, precision)
    assert DType.FLOAT32 not in {t.dtype for t in found.integers.graph.tensors.values()}
    assert min(noises(found, samples[1:])) > (30 if precision is Precision.INT8 else 45)
    data = check_litert(found.integers.graph, samples[:3])
    if precision is Precision.INT8:
        assert not [op for op in tflite.parse(data, "norms").ops if op.misjudged(tflite.parse(data, "norms"))]
        check(data, inputs=2, optimize="speed")
