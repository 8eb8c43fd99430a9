"""Two emulated cores compute what one computes, in little more than half of the instructions."""

from __future__ import annotations

import pytest

import mlperf_tiny
import two_cores
from tests.helpers.support import emulated, soaked

SHARES = {"rp2350": (0.7, 1.7), "rv32imc": (0.6, 1.5)}
"""The least share of the work that core 1 has of core 0's, and the least speed-up. Depthwise kernels of cores without
SIMD take whole images in one call, which one core makes."""
CASES = [(model, core) for core in ("rv32imc", "rp2350") for model in ("digits", "keywords", "kws", "ad")]


@pytest.mark.parametrize(("model", "core"), soaked(CASES, CASES[:1]))
def test_two_cores_share_the_work(model: str, core: str) -> None:
    emulated(core)
    given = two_cores.BUNDLED.get(model) or mlperf_tiny.build(model)
    single, one, double, two = two_cores.both(given, core)
    assert one.core_1 == one.barriers == 0 and single.settings.cores == 1
    share, speedup = SHARES[core]
    assert two.core_1 > share * two.core_0 and two.longer >= max(two.core_0, two.core_1)
    assert speedup < one.longer / two.taken < 2.1
    if not double.settings.costs.memory.waits:
        assert one.longer / two.taken == pytest.approx(single.cost / double.cost, rel=0.1)
