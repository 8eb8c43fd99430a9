"""Tree ensembles as layers of a model: the operator, and the format's link function on its sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, classical, elementwise, moves, norms
from mote.frontends.trees.forest import Grown, Link, TreeEnsemble, grow, rounded_down
from mote.ir.graph.types import DType
from mote.ir.ops.classical.forest import Forest


@dataclass(frozen=True)
class ForestOutputs:
    """The outputs of a forest. The model's outputs have the names of the fields, but for the decision."""

    label: Value | None = None
    """The index of the class."""
    probabilities: Value | None = None
    scores: Value | None = None
    prediction: Value | None = None
    decision: Value | None = None
    """The input of the link function: the `decision_function` of an estimator."""

    @property
    def values(self) -> Mapping[str, Value]:
        """The outputs that are present, by name."""
        outputs = ((field.name, getattr(self, field.name)) for field in fields(self) if field.name != "decision")
        return {name: value for name, value in outputs if value is not None}


def summed(b: Builder, x: Value, grown: Grown) -> Value:
    """The sums of the leaves over [samples, features]."""
    if not grown.trees.roots.size:
        raise UnsupportedNodeError("a forest without trees is not supported")
    shape = (*x.shape[:-1], grown.trees.outputs)
    dtype = DType(grown.trees.values.dtype.name)
    return b.value(b.op(Forest, [b.plain(x)], shape, dtype, trees=grown.trees), shape)


def forest(b: Builder, x: Value, described: TreeEnsemble) -> ForestOutputs:
    """A forest over [samples, features]."""
    grown = grow(described, x.dtype)
    sums = summed(b, x, grown)
    reals = divided(b, sums, described.divisor * grown.units / described.slope)
    linked = _linked(b, reals, described)
    if described.classes is None:
        return ForestOutputs(prediction=linked)
    label = _label(b, sums, described, grown)
    if described.link is Link.ISOLATION:
        return ForestOutputs(label=label, scores=linked, decision=linked)
    return ForestOutputs(label, linked, decision=elementwise.scaled(b, reals, 1 / described.slope))


def _label(b: Builder, sums: Value, described: TreeEnsemble, grown: Grown) -> Value:
    """The class by the sums before any rounding: the first of the largest."""
    if sums.shape[-1] > 1:
        return classical.best(b, sums)
    cut = rounded_down(described.cut * grown.units, sums.dtype)
    threshold = b.constant(np.array(cut, sums.dtype.numpy))
    exceeds = elementwise.greater(b, sums, threshold)
    return moves.squeeze(b, elementwise.cast(b, exceeds, DType.INT32), [-1])


def _linked(b: Builder, reals: Value, described: TreeEnsemble) -> Value:
    """The link function of the format on the sums."""
    if described.classes is not None and described.link is Link.LOGISTIC and reals.shape[-1] == 1:
        return classical.pair(b, reals)
    return elementwise.scaled(b, LINKS[described.link](b, reals), 1.0, described.offset)


def divided(b: Builder, sums: Value, divisor: float) -> Value:
    """Sums of leaves as float, divided by the unit: by a multiplication for powers of two, which is exact."""
    reals = elementwise.cast(b, sums, DType.FLOAT32)
    if math.frexp(divisor)[0] == 0.5:
        return elementwise.scaled(b, reals, 1 / divisor)
    return elementwise.div(b, reals, elementwise.scalar(b, divisor))


def _hinge(b: Builder, x: Value) -> Value:
    return elementwise.cast(b, elementwise.greater(b, x, elementwise.scalar(b, 0.0)), DType.FLOAT32)


def _isolated(b: Builder, x: Value) -> Value:
    return elementwise.neg(b, elementwise.exp(b, elementwise.scaled(b, x, -math.log(2))))


LINKS: Mapping[Link, Callable[[Builder, Value], Value]] = {
    Link.IDENTITY: lambda b, x: x,
    Link.LOGISTIC: elementwise.sigmoid,
    Link.SOFTMAX: norms.softmax,
    Link.EXP: elementwise.exp,
    Link.HINGE: _hinge,
    Link.SOFTPLUS: elementwise.softplus,
    Link.SQUARE: lambda b, x: elementwise.mul(b, x, elementwise.abs_(b, x)),
    Link.ISOLATION: _isolated,
}
