"""Adaptive rounding: rounds weights to minimize the error of the layer's output rather than of each weight.

The output error is the quadratic form e' G e of the weight errors e, where G is the Gram matrix of the layer's inputs
on calibration data; errors of weights with correlated inputs add up or cancel. Columns are rounded one after another
while later ones compensate by least squares (as GPTQ does), followed by coordinate descent in whole steps. Both are
deterministic and only need G.

Weights are [groups, rows, columns]: the rows (output channels) of a group read the same inputs. A convolution is one
group, a depthwise convolution one per channel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mote.optimize.compress.quantize.statistics import Numbers

DAMPING = 0.01
"""Damping of the Gram matrix's diagonal, relative to its mean."""
SWEEPS = 8
"""Maximum number of coordinate descent sweeps."""
TRIED = 40
"""Number of candidate scales per row."""
OFF_GRID = 1e-3
"""Tolerance, in steps, for weights that are already on the quantization grid."""
NARROWEST = 0.5
"""Smallest candidate scale, relative to the one that covers the largest weight."""

Steps = NDArray[np.int64]


def damped(covariance: Numbers, count: float) -> Numbers:
    """Invertible Gram matrices from covariances [groups, columns, columns] estimated from `count` samples. Estimates
    from few samples are shrunk towards their diagonal by the expected error (of normal variables). Constant inputs get
    equal weights."""
    columns = covariance.shape[-1]
    own = np.diagonal(covariance, axis1=1, axis2=2)
    alone = own[:, :, None] * np.eye(columns)
    wrong = (own.sum(1) ** 2 + (covariance**2).sum((1, 2))) / count
    together = ((covariance - alone) ** 2).sum((1, 2))
    drawn = np.divide(wrong, together, out=np.ones_like(wrong), where=together > wrong)[:, None, None]
    mean = own.mean(1)[:, None, None]
    shrunk: Numbers = covariance + drawn * (alone - covariance)
    return shrunk + np.where(mean > 0, DAMPING * mean, 1.0) * np.eye(columns)


def nearest(weights: Numbers, scales: Numbers, most: int) -> Steps:
    """Weights rounded to nearest with per-row scales."""
    return np.clip(np.rint(weights / scales[..., None]), -most, most).astype(np.int64)


def on_grid(weights: Numbers, scales: Numbers) -> bool:
    """Whether weights are already on the quantization grid, as after clustering or quantization-aware training, so that
    they must not be moved. Layers with a single weight per channel do not count: it is always on its own grid."""
    steps = weights / scales[..., None]
    return weights.shape[2] > 1 and bool((np.abs(steps - np.rint(steps)) < OFF_GRID).all())


def loss(weights: Numbers, gram: Numbers, scales: Numbers, steps: Steps) -> Numbers:
    """Squared output error of each row: [groups, rows]."""
    error = steps * scales[..., None] - weights
    lost: Numbers = ((error @ gram) * error).sum(axis=2)
    return lost


def best_scales(weights: Numbers, gram: Numbers, most: int, largest: Numbers) -> Numbers:
    """Per-row scales with the least output error after rounding to nearest, searched below the one that covers the
    largest weight."""
    scales, least = largest, loss(weights, gram, largest, nearest(weights, largest, most))
    for part in np.linspace(1.0, NARROWEST, TRIED)[1:]:
        tried = largest * part
        lost = loss(weights, gram, tried, nearest(weights, tried, most))
        scales, least = np.where(lost < least, tried, scales), np.minimum(lost, least)
    return scales


def adaptive(weights: Numbers, gram: Numbers, scales: Numbers, most: int) -> Steps:
    """Rounds weights to minimize the output error; zero (pruned) weights stay zero."""
    pruned = weights == 0
    adapted = descended(weights, gram, scales, most, _compensated(weights, gram, scales, most), pruned)
    plain = descended(weights, gram, scales, most, nearest(weights, scales, most), pruned)
    better = loss(weights, gram, scales, adapted) < loss(weights, gram, scales, plain)
    return np.where(better[..., None], adapted, plain)


def _compensated(weights: Numbers, gram: Numbers, scales: Numbers, most: int) -> Steps:
    """Rounds column by column, in order of falling input energy; later columns compensate for each error."""
    groups, rows, columns = weights.shape
    order = np.argsort(-np.diagonal(gram, axis1=1, axis2=2), axis=1, kind="stable")
    inner = order[:, None, :]
    left = np.take_along_axis(weights, inner, 2)
    sorted_gram = np.take_along_axis(np.take_along_axis(gram, order[:, :, None], 1), inner, 2)
    inverse = np.linalg.inv(sorted_gram)
    upper = np.linalg.cholesky((inverse + inverse.transpose(0, 2, 1)) / 2).transpose(0, 2, 1)
    steps = np.zeros((groups, rows, columns), np.int64)
    pruned = left == 0
    for j in range(columns):
        column = nearest(left[..., j : j + 1], scales, most)[..., 0]
        steps[..., j] = np.where(pruned[..., j], 0, column)
        error = (left[..., j] - steps[..., j] * scales) / upper[:, None, j, j]
        left[..., j + 1 :] -= error[..., None] * upper[:, None, j, j + 1 :]
    restored = np.empty_like(steps)
    np.put_along_axis(restored, np.broadcast_to(inner, steps.shape), steps, 2)
    return restored


def descended(
    weights: Numbers, gram: Numbers, scales: Numbers, most: int, steps: Steps, fixed: NDArray[np.bool_]
) -> Steps:
    """Coordinate descent: moves each free weight to its best step, others fixed, until nothing changes."""
    steps = np.where(fixed, 0, steps)
    error = steps * scales[..., None] - weights
    slope = error @ gram
    diagonal = np.diagonal(gram, axis1=1, axis2=2)
    for _ in range(SWEEPS):
        moved = False
        for j in range(weights.shape[2]):
            wanted = np.rint(steps[..., j] - slope[..., j] / (diagonal[:, j, None] * scales))
            change = np.where(fixed[..., j], 0, np.clip(wanted, -most, most).astype(np.int64) - steps[..., j])
            if not change.any():
                continue
            moved = True
            steps[..., j] += change
            slope += (change * scales)[..., None] * gram[:, None, j, :]
        if not moved:
            break
    return steps
