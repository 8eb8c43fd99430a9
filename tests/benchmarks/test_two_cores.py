"""Two emulated cores compute what one computes, in little more than half of the instructions."""

from __future__ import annotations

import pytest

import mlperf_tiny
import two_cores
from tests.helpers.support import emulated, soaked

CASES = [(model, core) for core in ("rv32imc", "rp2350") for model in ("digits", "keywords", "kws", "ad")]


@pytest.mark.parametrize(("model", "core"), soaked(CASES, CASES[:1]))
def test_two_cores_share_the_work(model: str, core: str) -> None:
    emulated(core)
    given = two_cores.BUNDLED.get(model) or mlperf_tiny.build(model)
    single, one, double, two = two_cores.both(given, core)
    assert one.core_1 == one.barriers == 0 and single.settings.cores == 1
    assert two.core_1 > 0.7 * two.core_0 and two.longer >= max(two.core_0, two.core_1)
    assert 1.7 < one.longer / two.taken < 2.1
    if not double.settings.costs.memory.waits:
        assert one.longer / two.taken == pytest.approx(single.cost / double.cost, rel=0.1)
