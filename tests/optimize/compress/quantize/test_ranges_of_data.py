"""Ranges from what was seen: they hold zero, lie within what was seen, and are what their method promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.optimize.compress.quantize.calibration import DEAD, METHODS, Range, method_of, range_of, ranges
from mote.optimize.compress.quantize.statistics import look

Floats = NDArray[np.float64]


def noise(values: Floats, ends: Range, steps: int = 255) -> float:
    """The mean squared error of integers for a range."""
    step = (ends[1] - ends[0]) / steps
    zero = np.rint(-ends[0] / step)
    return float(np.mean((values - (np.clip(np.rint(values / step) + zero, 0, steps) - zero) * step) ** 2))


def of(values: Floats, method: str) -> Range:
    return range_of(look(values), method_of(method))


@settings(max_examples=60)
@given(
    st.sampled_from(METHODS),
    st.lists(st.floats(-1e4, 1e4, width=32) | st.just(0.0), min_size=1, max_size=50),
)
def test_every_range_holds_zero_and_nothing_that_was_not_seen(method: str, values: list[float]) -> None:
    low, high = range_of(look(np.array(values)), method_of(method))
    assert low <= 0 <= high and low < high
    if any(values):
        assert min(*values, 0.0) <= low and high <= max(*values, 0.0)


@pytest.mark.parametrize("method", METHODS)
def test_dead_tensors_and_constants(method: str) -> None:
    assert of(np.zeros(100), method) == DEAD
    assert of(np.full(100, 3.5), method) == (0.0, 3.5)
    assert of(np.full(100, -0.25), method) == (-0.25, 0.0)


@pytest.mark.parametrize("method", METHODS)
def test_rectified_tensors_have_a_range_above_zero(method: str) -> None:
    low, high = of(np.maximum(np.random.default_rng(0).standard_normal(20000), 0), method)
    assert low == 0 and 1.5 < high < 5


def test_min_max_is_all_of_it() -> None:
    values = np.random.default_rng(0).standard_normal(5000)
    assert of(values, "min-max") == (values.min(), values.max())


@pytest.mark.parametrize("share", [99.0, 99.9, 99.99])
def test_percentiles_keep_that_share(share: float) -> None:
    values = np.random.default_rng(0).standard_normal(100000)
    low, high = of(values, f"percentile:{share}")
    inside = 100 * np.mean((values >= low) & (values <= high))
    assert share <= inside < share + 0.2 * (100 - share)


def test_all_percent_are_all_of_it() -> None:
    values = np.random.default_rng(0).standard_normal(1000)
    assert of(values, "percentile:100") == (values.min(), values.max())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["normal", "laplace", "rectified", "outlier"])
def test_the_least_error_is_the_least_of_those_tried(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = {
        "normal": rng.standard_normal(20000),
        "laplace": rng.laplace(size=20000),
        "rectified": np.maximum(rng.laplace(size=20000), 0),
        "outlier": np.append(rng.standard_normal(20000), -300.0),
    }[kind]
    low, high = ends = of(values, "mse")
    others = [(min(low * a, 0), high * b) for a in (0.8, 1.0, 1.25) for b in (0.8, 1.0, 1.25)]
    assert noise(values, ends) <= 1.02 * min(noise(values, other) for other in others)
    assert noise(values, ends) <= 1.001 * noise(values, of(values, "min-max"))


def test_values_on_a_grid_are_not_cut_off_where_many_lie_at_the_end() -> None:
    values = np.clip(np.random.default_rng(0).normal(128, 90, 20000), 0, 255)
    assert of(values, "mse") == (0.0, 255.0)


def test_entropy_leaves_out_what_is_rare_and_far() -> None:
    values = np.append(np.random.default_rng(0).standard_normal(200000), [100.0, -100.0])
    low, high = of(values, "entropy")
    assert -20 < low < -2 and 2 < high < 20


def test_few_values_tell_no_distribution() -> None:
    values = np.random.default_rng(0).standard_normal(5000)
    assert of(values, "entropy") == of(values, "min-max")


def test_ranges_are_by_tensor() -> None:
    seen = {3: look(np.array([1.0, 2.0])), 5: look(np.array([-1.0]))}
    assert ranges(seen) == {3: (0.0, 2.0), 5: (-1.0, 0.0)}


@pytest.mark.parametrize("text", ["max", "mse:3", "percentile:x", "percentile:101", "percentile:", "percentile:nan"])
def test_unknown_methods_are_refused(text: str) -> None:
    with pytest.raises(MoteError) as error:
        method_of(text)
    assert error.value.remedy


def test_methods_print_as_they_are_written() -> None:
    assert [str(method_of(text)) for text in ("mse", "percentile", "percentile:99.5")] == [
        "mse",
        "percentile:99.99",
        "percentile:99.5",
    ]
