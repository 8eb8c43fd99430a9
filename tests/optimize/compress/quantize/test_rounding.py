"""Rounding that looks at the layer's results: never worse than the nearest steps, and nearly the best."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mote.optimize.compress.quantize.refinement.rounding import adaptive, best_scales, damped, loss, nearest

Floats = NDArray[np.float64]


def layer(seed: int, groups: int, rows: int, columns: int, samples: int = 2000) -> tuple[Floats, Floats]:
    """Random weights, and the Gram matrices of inputs that vary together."""
    rng = np.random.default_rng(seed)
    inputs = rng.standard_normal((groups, samples, columns)) @ rng.standard_normal((groups, columns, columns))
    gram = inputs.transpose(0, 2, 1) @ inputs / samples
    return rng.standard_normal((groups, rows, columns)), damped(gram, samples)


def scales_of(weights: Floats, most: int) -> Floats:
    return np.asarray(np.abs(weights).max(-1) / most)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 5), st.integers(1, 20), st.sampled_from([7, 127]))
def test_results_lose_no_more_than_with_the_nearest_steps(
    seed: int, groups: int, rows: int, columns: int, most: int
) -> None:
    weights, gram = layer(seed, groups, rows, columns)
    scales = scales_of(weights, most)
    found, plain = adaptive(weights, gram, scales, most), nearest(weights, scales, most)
    assert np.abs(found).max() <= most
    assert (loss(weights, gram, scales, found) <= loss(weights, gram, scales, plain) * (1 + 1e-9)).all()


def test_correlated_inputs_lose_much_less() -> None:
    weights, gram = layer(0, 1, 16, 64)
    scales = scales_of(weights, 7)
    found, plain = adaptive(weights, gram, scales, 7), nearest(weights, scales, 7)
    assert loss(weights, gram, scales, found).sum() < 0.6 * loss(weights, gram, scales, plain).sum()


def test_small_layers_come_close_to_the_best_of_all_steps() -> None:
    found = least = 0.0
    for seed in range(5):
        weights, gram = layer(seed, 1, 1, 5)
        scales = scales_of(weights, 7)
        low = np.floor(weights / scales[..., None]).astype(np.int64)
        tried = np.clip(low + np.array(list(product(range(-1, 3), repeat=5)))[:, None], -7, 7)
        least += min(float(loss(weights, gram, scales, steps[None])[0, 0]) for steps in tried)
        found += float(loss(weights, gram, scales, adaptive(weights, gram, scales, 7))[0, 0])
    assert least <= found <= 1.5 * least


def test_independent_inputs_leave_the_nearest_steps() -> None:
    weights = np.random.default_rng(0).standard_normal((1, 4, 6))
    scales = scales_of(weights, 127)
    assert np.array_equal(adaptive(weights, np.eye(6)[None], scales, 127), nearest(weights, scales, 127))


def test_weights_that_are_zero_stay_zero() -> None:
    weights, gram = layer(3, 2, 4, 12)
    weights[:, :, ::3] = 0
    assert not adaptive(weights, gram, scales_of(weights, 7), 7)[:, :, ::3].any()


def test_inputs_that_never_occur_do_not_stop_it() -> None:
    weights = np.random.default_rng(0).standard_normal((1, 3, 4))
    gram = damped(np.zeros((1, 4, 4)), 100)
    scales = scales_of(weights, 127)
    assert np.array_equal(adaptive(weights, gram, scales, 127), nearest(weights, scales, 127))


def test_best_scales_lose_no_more_than_the_largest() -> None:
    weights, gram = layer(7, 2, 6, 30)
    largest = scales_of(weights, 7)
    best = best_scales(weights, gram, 7, largest)
    assert (best <= largest).all() and (best < largest).any()
    lost = [loss(weights, gram, s, nearest(weights, s, 7)) for s in (best, largest)]
    assert (lost[0] <= lost[1]).all()


def test_few_samples_do_not_tell_what_varies_together() -> None:
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((40, 30))
    few = damped((inputs.T @ inputs / 40)[None], 40)[0]
    apart = few - np.diag(np.diag(few))
    assert np.abs(apart).max() < 0.05 * np.diag(few).min()
    mixed = rng.standard_normal((100000, 30)) @ rng.standard_normal((30, 30))
    many = mixed.T @ mixed / 100000
    assert np.allclose(damped(many[None], 100000)[0], many + 0.01 * np.diag(many).mean() * np.eye(30), rtol=0.01)
