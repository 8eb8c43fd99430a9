"""Damaged command streams and weights are refused, or touch nothing but their own memory: a slice of `make fuzz`."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.hardware.npu.fuzz import trial, vela_trial
from tests.helpers.support import fuzzed

TRIALS = 250
MORE = 6000
RANDOM_MODELS = 60


def fates(numbers: range) -> Counter[str]:
    return Counter(map(trial, numbers))


def test_mutants_are_refused_or_stay_in_their_memory() -> None:
    seen = fates(range(TRIALS))
    assert set(seen) >= {
        *("not decoded", "refused", "good", "executed"),
        *("weights refused", "weights decoded"),
    }
    assert seen["executed"] > TRIALS / 50


@fuzzed
def test_more_mutants_are_refused_or_stay_in_their_memory() -> None:
    assert sum(fates(range(TRIALS, TRIALS + MORE)).values()) == MORE


@fuzzed
def test_streams_of_random_models_are_good() -> None:
    pytest.importorskip("ethosu.vela", reason="ethos-u-vela is not installed")
    seen = Counter(map(vela_trial, range(RANDOM_MODELS)))
    assert seen["compiled"] > RANDOM_MODELS / 4
