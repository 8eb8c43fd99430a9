"""The error of the model beside a measurement."""

from __future__ import annotations

from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mote.bench.measure.profiler.measured import geometric_error, mean_error, middle, percent, relative_error

COUNTS = st.integers(1, 10**9)
PAIRS = st.lists(st.tuples(COUNTS, COUNTS), min_size=1, max_size=20)


def test_errors_of_two_layers() -> None:
    pairs = [(110, 100), (80, 100)]
    assert relative_error(*pairs[0]) == pytest.approx(0.1)
    assert mean_error(pairs) == pytest.approx(0.15)
    assert geometric_error(pairs) == pytest.approx((1.1 / 0.8) ** 0.5 - 1)
    assert (percent(-0.2), percent(None)) == ("-20.0%", None)


def test_nothing_was_measured() -> None:
    assert relative_error(7, 0) is None
    assert mean_error([]) is geometric_error([]) is None


@given(PAIRS)
def test_the_geometric_error_takes_no_side(pairs: list[tuple[int, int]]) -> None:
    """Half as much and twice as much are the same error, which a mean of fractions does not say."""
    error, turned = geometric_error(pairs), geometric_error([(b, a) for a, b in pairs])
    assert error is not None and turned is not None
    assert error >= 0 and isclose(error, turned, rel_tol=1e-9, abs_tol=1e-9)
    assert (error == 0) == (mean_error(pairs) == 0)


@given(st.lists(COUNTS, min_size=1, max_size=9))
def test_the_middle_run(counts: list[int]) -> None:
    """At most half of the runs took longer, and at most half less."""
    at, spread = middle(counts)
    assert 2 * sum(x > counts[at] for x in counts) <= len(counts)
    assert 2 * sum(x < counts[at] for x in counts) < len(counts)
    assert spread == (max(counts) - min(counts)) / counts[at]
