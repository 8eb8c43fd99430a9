"""Damaged command streams and weights are refused, or touch nothing but their own memory: a slice of `make fuzz`."""

from __future__ import annotations

from collections import Counter

from tests.helpers.support import fuzzed
from tests.npu.fuzz import trial

TRIALS = 250
MORE = 6000


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
