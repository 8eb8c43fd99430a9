"""Layers with blocks of zeros: every kernel that leaves them out, on the host and on a core, and what that saves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparse
from mote.compiler.kernels.contract import Packed
from mote.compiler.kernels.pack.weights.sparse import LEAST, MOST, paired, without_zeros
from mote.compiler.plan.planner import plan
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.compiler.plan.selection.select import Selection
from mote.ir.graph.region import Numbers
from mote.optimize.tune.calibration.cost_layers import CostLayer, graph_of
from tests.compiler.kernels import test_variants
from tests.helpers.support import HOST_DSP, check, emulated, exact_on, needs_litert
from tests.ir.ops.windows import test_conv

FORMS = ("wide_sparse4", "wide_sparse2", "pair_sparse4", "pair_sparse2")


@st.composite
def layers(draw: st.DrawFn) -> test_conv.Config:
    """Convolutions of which weights are zero."""
    channels, pruned = draw(st.sampled_from([3, 8, 12, 24])), draw(st.sampled_from(test_conv.PRUNED))
    return replace(draw(test_variants.layers()), channels=channels, pruned=pruned)


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Operators get the kernel of this form, where there is one."""
    wanted: str = request.param
    best = Selection.best

    def chosen(self: Selection, ops: Numbers, whole: bool, room: int | None = None) -> Packed:
        found = [k for k in self.variants[ops] if k.family.endswith(wanted)]
        return found[0] if found else best(self, ops, whole, room)

    monkeypatch.setattr(Selection, "best", chosen)
    return wanted


@pytest.mark.slow
@needs_litert
@given(test_variants.batches(layers()))
@test_variants.QUICK
def test_convolutions_on_the_host(form: str, model: bytes) -> None:
    check(model, target=HOST_DSP, optimize="speed")


@pytest.mark.slow
@needs_litert
@given(test_variants.batches(layers()))
@test_variants.QUICK
def test_convolutions_on_cortex_m4(form: str, model: bytes) -> None:
    exact_on("cortex-m4", model, 2, optimize="speed")


@pytest.mark.quick_cases(1)
@needs_litert
@given(test_variants.planar(layers()))
@test_variants.QUICK
def test_convolutions_into_planar_rows(form: str, model: bytes) -> None:
    exact_on("cortex-m4", model, 2, optimize="speed")


@given(st.integers(1, 4), st.integers(1, 9), st.integers(0, 2), st.sampled_from([0.0, 0.1, 0.5, 0.9]), st.randoms())
def test_what_is_left_is_the_matrix(rows: int, count: int, at: int, share: float, random: object) -> None:
    """Blocks put back where their distances say; the only way back is to the last of a row."""
    rng = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    blocks = rng.integers(1, 9, (rows, count, 2)) * (rng.random((rows, count, 1)) < share)
    left = without_zeros(blocks, 10, at)
    if left is None:
        assert count < LEAST or np.maximum(blocks.any(axis=2).sum(axis=1), LEAST).sum() > MOST * rows * count
        return
    found, stored = np.zeros_like(blocks), 0
    for row, words in zip(found, left.rows, strict=True):
        end, *_ = steps = [0]
        for block in words.reshape(-1, 3):
            steps.append(block[at])
            end += block[at] // 10 + 1
            row[end - 1] = np.delete(block, at)
            stored += 1
        assert min(steps[:-1]) >= 0 > steps[-1]
    assert np.array_equal(found, blocks) and left.density == stored / (rows * count)


def test_rows_that_use_the_same_blocks_are_paired() -> None:
    used = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1], [1, 1, 0, 0], [0, 0, 0, 1]], bool)
    assert paired(used).tolist() == [0, 3, 1, 2, 4]
    assert paired(used[[0, 3, 1, 2]]).tolist() == [0, 1, 2, 3]
    assert paired(np.ones((4, 4), bool)) is None


POINTWISE, DENSE = (
    CostLayer("CONV_2D", (6, 6), 64, 33, block=(2, 4)),
    CostLayer("FULLY_CONNECTED", (1, 1), 256, 30, block=(4, 8)),
)


@pytest.mark.slow
def test_three_quarters_of_zeros_save_half_of_the_instructions() -> None:
    emulated("cortex-m4")
    figures = sparse.measure((POINTWISE, DENSE), (0.75,))
    for found in figures.values():
        left, whole = (min(n for k, n in found.items() if ("sparse" in k) is zeros) for zeros in (True, False))
        assert left[0] < whole[0] / 2, found


@pytest.mark.parametrize("optimize", ["speed", "balanced", "size"])
@pytest.mark.parametrize("layer", [POINTWISE, DENSE], ids=str)
def test_chosen_where_it_saves_something(layer: CostLayer, optimize: str) -> None:
    def chosen(kept: float) -> tuple[str, str]:
        found = plan(graph_of([replace(layer, kept=kept)]), Lowering(frozenset({"dsp"}), Policy(optimize)))
        ((option, *_),) = found.choices.values()
        return option.family, option.why

    assert not any("sparse" in text for text in (*chosen(1.0), *chosen(0.95)))
    family, why = chosen(0.25)
    assert "sparse" in family and why.endswith("75% of its blocks are zero")
