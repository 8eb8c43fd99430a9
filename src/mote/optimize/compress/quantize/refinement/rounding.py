"""Adaptive rounding: quantizes weights to minimize the error of the layer's results rather than of each weight.

The nearest step is the best for one weight; for a layer it is not, because errors of weights whose inputs vary together
add up or cancel. What a layer's results lose is a quadratic form of the weights' errors, e' G e, where G is the Gram
matrix of its inputs on calibration data. Weights are rounded one column after another, and those that are still to
come make up for the error (they solve the least squares with what is fixed); then each weight is moved by whole steps
as long as the loss falls. Both are deterministic and need nothing but G: no training.

A layer has groups of weights, [groups, rows, columns]: the rows of a group (output channels) read the same inputs. A
convolution has one group, a depthwise one as many as channels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mote.optimize.compress.quantize.statistics import Numbers

DAMPING = 0.01
"""Added to the Gram matrix's diagonal, as a part of its mean."""
SWEEPS = 8
"""Most sweeps of coordinate descent."""
TRIED = 40
"""Candidate scales for each row."""
OFF_GRID = 1e-3
"""Parts of a step by which whole steps may be off in float32."""
NARROWEST = 0.5
"""The smallest candidate scale, as a part of the one that covers the largest weight."""

Steps = NDArray[np.int64]


def damped(covariance: Numbers, count: float) -> Numbers:
    """Covariances [groups, columns, columns] of inputs, estimated from so many samples, as invertible Gram matrices.
    Estimates from few samples are shrunk towards a diagonal matrix by their expected error (for normal variables). For
    constant inputs all columns have equal weight."""
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
    """Weights [groups, rows, columns] rounded to nearest, with per-row scales [groups, rows]."""
    return np.clip(np.rint(weights / scales[..., None]), -most, most).astype(np.int64)


def on_grid(weights: Numbers, scales: Numbers) -> bool:
    """Whether weights are whole steps already, as clustered ones are, and those trained with fake quantization: nothing
    is lost by rounding, and moving them would lose what they were chosen for. Single weights always are: their largest
    is their scale."""
    steps = weights / scales[..., None]
    return weights.shape[2] > 1 and bool((np.abs(steps - np.rint(steps)) < OFF_GRID).all())


def loss(weights: Numbers, gram: Numbers, scales: Numbers, steps: Steps) -> Numbers:
    """Error of the results of each row: [groups, rows]."""
    error = steps * scales[..., None] - weights
    lost: Numbers = ((error @ gram) * error).sum(axis=2)
    return lost


def best_scales(weights: Numbers, gram: Numbers, most: int, largest: Numbers) -> Numbers:
    """Scales [groups, rows], up to those that cover the largest weight, with the least error after rounding to
    nearest."""
    scales, least = largest, loss(weights, gram, largest, nearest(weights, largest, most))
    for part in np.linspace(1.0, NARROWEST, TRIED)[1:]:
        tried = largest * part
        lost = loss(weights, gram, tried, nearest(weights, tried, most))
        scales, least = np.where(lost < least, tried, scales), np.minimum(lost, least)
    return scales


def adaptive(weights: Numbers, gram: Numbers, scales: Numbers, most: int) -> Steps:
    """Quantizes weights to minimize the error of results. Pruned (zero) weights stay zero."""
    pruned = weights == 0
    adapted = descended(weights, gram, scales, most, _compensated(weights, gram, scales, most), pruned)
    plain = descended(weights, gram, scales, most, nearest(weights, scales, most), pruned)
    better = loss(weights, gram, scales, adapted) < loss(weights, gram, scales, plain)
    return np.where(better[..., None], adapted, plain)


def _compensated(weights: Numbers, gram: Numbers, scales: Numbers, most: int) -> Steps:
    """Rounds column by column, largest inputs first; later columns compensate for each error."""
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
    """Coordinate descent: moves each free weight to its best step while all others stay, until nothing changes."""
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
