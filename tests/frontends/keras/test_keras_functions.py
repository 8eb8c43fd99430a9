"""Functions of `keras.ops` between layers: in C as in Keras."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("keras")

import mote
from mote.base.errors import MoteError
from mote.frontends.keras.layers.functions import FUNCTIONS
from tests.frontends.keras.test_keras_layers import Branch, branches, check, keras

pytestmark = pytest.mark.frontends
ops = keras.ops
RAMP = np.arange(6, dtype=np.float32) * 9
"""Makes elements differ, so that their order does not depend on the backend."""


def real(x: Any) -> Any:
    return ops.cast(x, "float32")


ELEMENTS: list[Any] = [
    *(ops.sin, ops.cos, ops.sinh, ops.cosh, ops.arctan, ops.arcsinh, ops.erf, ops.expm1, ops.floor, ops.ceil),
    *(ops.trunc, ops.sign, ops.round, ops.isnan, ops.isinf, ops.isfinite, ops.selu, ops.softsign),
    *(ops.hard_tanh, ops.hard_shrink, ops.soft_shrink, ops.tanh_shrink, ops.log_sigmoid, ops.sparse_plus),
    *(ops.sparse_sigmoid, ops.stop_gradient, ops.copy),
    lambda x: ops.tan(x / 4.0),
    lambda x: ops.arccos(ops.tanh(x) * 0.9) + ops.arcsin(ops.tanh(x) * 0.9) + ops.arctanh(ops.tanh(x) * 0.9),
    lambda x: ops.arccosh(ops.abs(x) + 1.1),
    lambda x: ops.log1p(ops.abs(x)) + ops.log2(ops.abs(x) + 0.1) + ops.log10(ops.abs(x) + 0.1),
    lambda x: ops.reciprocal(ops.abs(x) + 0.5),
    lambda x: ops.arctan2(x, x + 0.5) + ops.hypot(x, x + 2.0) + ops.logaddexp(x, x * 2.0),
    lambda x: ops.mod(x, 0.75) + ops.floor_divide(x, 0.25),
    lambda x: ops.logical_xor(x > 0.5, x > -0.5),
    lambda x: ops.full_like(x, 3.0) * x,
    lambda x: ops.leaky_relu(x, 0.3) + ops.elu(x, 0.5) + ops.celu(x, 0.7) + ops.squareplus(x, 3),
    lambda x: ops.threshold(x, 0.1, 0.2),
    lambda x: ops.glu(x, -1),
]
PLACES: list[Any] = [
    lambda x: ops.flip(x, 1),
    lambda x: ops.flip(x),
    lambda x: ops.roll(x, 2, 1),
    lambda x: ops.roll(x, (1, -2), (1, 2)),
    lambda x: ops.roll(x, 5),
    lambda x: ops.stack([x, x * 2.0], 1),
    lambda x: ops.concatenate(ops.split(x, 3, -1)[::-1], -1),
    lambda x: ops.split(x, (1, 4), -1)[1],
    lambda x: ops.unstack(x, axis=1)[1],
    lambda x: ops.take(x, [0, -1, 0], 1),
    lambda x: ops.take(x, [0, 7]),
    lambda x: ops.take(x[0], ops.argmax(x[0], -1), 1),
    lambda x: ops.take_along_axis(x, ops.argsort(x, -1), -1),
    lambda x: ops.tile(x, (2, 1, 2, 1)),
    lambda x: ops.tile(x, 2),
    lambda x: ops.repeat(x, 2, 1),
    lambda x: ops.pad(x, ((0, 0), (1, 2), (0, 1)), "reflect"),
    lambda x: ops.pad(x, ((0, 0), (1, 1), (0, 1)), "symmetric"),
    lambda x: ops.pad(x, ((0, 0), (1, 2), (0, 1)), constant_values=2.0),
    lambda x: ops.swapaxes(x, 1, 2),
    lambda x: ops.moveaxis(x, 1, 2),
    lambda x: ops.ravel(x),
    lambda x: ops.broadcast_to(x[:, :1], (1, 4, 6)),
    lambda x: ops.slice(x, (0, 1, 2), (1, 2, 3)),
]
SUMS: list[Any] = [
    lambda x: real(ops.argmax(x, -1)) + real(ops.argmin(x, -1)),
    lambda x: ops.argmax(x),
    lambda x: ops.argmin(x, keepdims=True),
    lambda x: ops.cumsum(x, 1),
    lambda x: ops.cumsum(x),
    lambda x: ops.std(x, 1) + ops.var(x, 1) + ops.amax(x, 1) + ops.amin(x, 1) + ops.prod(x, 1),
    lambda x: ops.logsumexp(x, (1, 2)),
    lambda x: ops.norm(x, axis=-1) + ops.norm(x, ord=1, axis=-1),
    lambda x: ops.norm(x),
    lambda x: ops.top_k(x, 2)[0] + real(ops.top_k(x + RAMP, 2)[1]),
    lambda x: ops.sort(x, 1),
    lambda x: ops.median(x, -1) + ops.median(x[:, :, :5], -1),
    lambda x: ops.median(x, 1, keepdims=True),
    lambda x: ops.einsum("bij,bkj->bik", x, x),
    lambda x: ops.dot(x, ops.transpose(x[0])),
    lambda x: ops.one_hot(ops.argmax(x, -1), 6),
    lambda x: ops.normalize(x, -1) + ops.normalize(x, 1, order=1),
    lambda x: ops.count_nonzero(x > 0.5, axis=1),
]
GROUPS = {"elements": ELEMENTS, "places": PLACES, "sums": SUMS}


def cases(name: str) -> list[Branch]:
    return [((3, 6), function) for function in GROUPS[name]]


@pytest.mark.parametrize("name", GROUPS)
def test_functions_equal_keras(name: str) -> None:
    check(*cases(name))


def test_every_function_is_tried() -> None:
    models = [branches(*cases(name)) for name in GROUPS]
    seen = {type(operation).__name__ for model in models for operation in model.operations}
    missing = set(FUNCTIONS) - seen
    assert not missing


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: ops.round(x, 2), "rounding to decimals"),
        (lambda x: ops.norm(x, ord=3, axis=-1), "the norm of order 3"),
        (lambda x: ops.tril(x), "Tril"),
    ],
)
def test_what_is_refused(function: Any, reason: str) -> None:
    with pytest.raises(MoteError, match=reason):
        mote.compile(branches(((3, 6), function)))
