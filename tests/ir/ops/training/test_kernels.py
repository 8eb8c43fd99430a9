"""The C of operators of training against their NumPy references, many operators in one program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import Activation
from mote.ir.ops.common import Axis
from mote.ir.ops.training.activation_gradients import (
    ClampGradient,
    HardSwishGradient,
    LeakyReluGradient,
    LogisticGradient,
    TanhGradient,
)
from mote.ir.ops.training.losses import MeanSquaredError, SoftmaxCrossEntropy
from mote.ir.ops.training.normalization_gradients import (
    LayerNormalizationGradient,
    RmsNormalizationGradient,
    SoftmaxGradient,
)
from mote.ir.ops.training.optimizers import AccumulateGradient, AdamStep, SgdStep, moment_types
from mote.ir.ops.training.window_gradients import (
    AveragePoolGradient,
    ConvInputGradient,
    ConvWeightGradient,
    DepthwiseInputGradient,
    DepthwiseWeightGradient,
    MaxPoolGradient,
)
from tests.frontends.features.postprocess.scored import in_c, streamed
from tests.helpers.built import side_by_side
from tests.helpers.support import emulated
from tests.ir.ops.training.single import single

RELATIVE = 2e-6
"""How far results may be from the reference's, as a share of the largest one: it adds up in double precision."""
WINDOWS = [
    (Axis(3, 1, 1, 1, 1), Axis(3, 1, 1, 1, 1), (5, 6)),
    (Axis(3, 2, 1, 0, 1), Axis(2, 2, 1), (6, 7)),
    (Axis(2, 1, 2, 1, 0), Axis(3, 3, 2, 2, 2), (4, 9)),
    (Axis(1), Axis(1), (3, 2)),
    (Axis(1, 2), Axis(5, 1, 1, 4, 4), (5, 1)),
]
"""Windows with padding, strides, gaps, and pixels that no window has; and sizes of images."""
ONE = np.ones(1, np.float32)
LABELS = np.zeros(4, np.int32)


def alone(kind: type[Op], *values: tuple[int, ...] | Array, outputs: int = 1, **attributes: Any) -> Graph:
    """An operator of float32 inputs of some shapes, or of arrays: what states begin with that it writes over, or else
    constants; labels are inputs."""
    arrays = [np.zeros(value, np.float32) if isinstance(value, tuple) else value for value in values]
    graph = single(kind, *arrays, outputs=outputs, **attributes)
    assert (problem := graph.ops[0].unsupported(graph)) is None, problem
    known = {i for i, value in enumerate(values) if not isinstance(value, tuple) and value is not LABELS}
    constants = known - {state.before for state in graph.states}
    tensors = {i: replace(t, data=arrays[i] if i in constants else None) for i, t in graph.tensors.items()}
    return replace(graph, tensors=tensors, inputs=tuple(i for i in graph.inputs if i not in known))


def windows() -> list[Graph]:
    """All gradients of windows over one or two images."""
    graphs = []
    for number, (v, h, size) in enumerate(WINDOWS):
        images, channels, outputs = 1 + number % 2, (3, 1, 5, 2, 4)[number], (4, 6, 1, 9, 3)[number]
        made, multiplier = (images, v.size(size[0]), h.size(size[1])), 1 + number % 3
        of: dict[str, Any] = {"vertical": v, "horizontal": h}
        kernel, x = (v.kernel, h.kernel), (images, *size, channels)
        wide = multiplier * channels
        graphs += [
            alone(ConvInputGradient, (*made, outputs), (outputs, *kernel, channels), size=size, **of),
            alone(ConvWeightGradient, x, (*made, outputs), **of),
            alone(DepthwiseInputGradient, (*made, wide), (1, *kernel, wide), size=size, multiplier=multiplier, **of),
            alone(DepthwiseWeightGradient, x, (*made, wide), **of),
            alone(AveragePoolGradient, (*made, channels), size=size, **of),
            alone(MaxPoolGradient, (*made, channels), x, size=size, **of),
        ]
    return graphs


def elements() -> list[Graph]:
    """Of activations and normalizations."""
    pair = (2, 3, 7), (2, 3, 7)
    return [
        *(alone(ClampGradient, *pair, activation=a) for a in (Activation.RELU, Activation.RELU6, Activation.NONE)),
        alone(LogisticGradient, *pair),
        alone(TanhGradient, *pair),
        alone(LeakyReluGradient, *pair, alpha=0.3),
        alone(HardSwishGradient, *pair),
        alone(SoftmaxGradient, *pair, beta=0.5),
        alone(LayerNormalizationGradient, *pair, epsilon=1e-3),
        alone(RmsNormalizationGradient, (5, 1), (5, 1), epsilon=1e-3),
        alone(RmsNormalizationGradient, *pair, epsilon=1e-3),
    ]


def losses() -> list[Graph]:
    return [
        alone(SoftmaxCrossEntropy, (4, 3), LABELS, ONE, outputs=2, beta=0.5),
        alone(SoftmaxCrossEntropy, (4, 9), LABELS, ONE, outputs=2),
        alone(MeanSquaredError, (2, 5), (2, 5), ONE, outputs=2),
    ]


def steps() -> list[Graph]:
    """Of optimizers: with and without moments, in inferences that make a step and in others, and of more weights than
    have a scale in common."""
    rng = np.random.default_rng(2)
    w = rng.normal(size=(7, 11)).astype(np.float32)
    moments = [np.zeros(shape, dtype.numpy) for dtype, shape in moment_types(w.size)]
    one, two = (np.array([step], np.int32) for step in (1, 2))
    rate = np.array([0.05], np.float32)
    return [
        *(alone(AccumulateGradient, w, w.shape, step, every=2) for step in (one, two)),
        *(alone(SgdStep, w, w.shape, rate, step, every=2) for step in (one, two)),
        alone(SgdStep, w, w.shape, (1,), one, weight_decay=0.01),
        alone(SgdStep, w, w.shape, rate, one, w, outputs=2, momentum=0.9),
        *(alone(SgdStep, w, w.shape, rate, step, w, outputs=2, momentum=0.9, every=3) for step in (one, two)),
        alone(AdamStep, w, w.shape, rate, one, *moments, outputs=5, weight_decay=0.1),
        *(alone(AdamStep, w, w.shape, rate, step, *moments, outputs=5, every=3) for step in (one, two)),
    ]


def several() -> list[Graph]:
    return [*windows(), *elements(), *losses(), *steps()]


def drawn(graph: Graph, count: int) -> list[dict[int, Array]]:
    """Inputs for so many inferences: some large ones, labels that are no classes."""
    rng = np.random.default_rng(3)
    cases = []
    for number in range(count):
        tensors = [graph.tensors[t] for t in graph.inputs]
        cases.append(
            {
                t.id: (4 * rng.normal(size=t.shape) * (1 if number else 20)).astype(np.float32)
                if t.dtype.real
                else rng.integers(-2, 5, t.shape).astype(np.int32)
                for t in tensors
            }
        )
    return cases


def agree(graphs: Sequence[Graph], target: str, count: int, relative: float = RELATIVE) -> None:
    """The C of these operators, in one program, gives what NumPy does, inference by inference."""
    graph = side_by_side(graphs).graph()
    cases = drawn(graph, count)
    for wanted, made in zip(streamed(graph, cases), in_c(graph, cases, target), strict=True):
        for t, x, y in zip(graph.outputs, wanted, made, strict=True):
            near = relative * np.abs(x).max(initial=1.0) if graph.tensors[t].dtype.real else 0
            np.testing.assert_allclose(y, x, rtol=0, atol=near, err_msg=str(graph.tensors[t]))


def test_c_computes_the_same() -> None:
    agree([*windows(), *elements(), *losses()], "host", 4)


def test_a_core_computes_the_same() -> None:
    agree([*windows(), *elements(), *losses()], emulated("cortex-m4"), 3)


@pytest.mark.parametrize("target", ["host", "cortex-m4"])
def test_steps_of_optimizers_have_the_same_bits(target: str) -> None:
    agree(steps(), target if target == "host" else emulated(target), 6, relative=0.0)
