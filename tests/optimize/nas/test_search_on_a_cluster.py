"""A search whose candidates are trained elsewhere: byte for byte the models of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mote
from mote.optimize.nas.result import SearchResult
from mote.optimize.nas.spaces.space import SearchSpace
from mote.optimize.nas.spaces.stage import SpaceHead, SpaceStage

pytest.importorskip("torch", reason="networks are trained in PyTorch")

MODELS = Path(__file__).parents[3] / "models"
STEM = SpaceStage("conv", width=(4, 6), stride=2)
SPACES = (
    SearchSpace("shared", (SpaceStage("separable", width=(8, 12), precision=("int4", "int8")),), stem=STEM),
    SearchSpace("trained", (SpaceStage("conv", width=4),), stem=STEM, head=SpaceHead(pool=("mean", "flatten"))),
)


def searched(**options: Any) -> SearchResult:
    train, test = (
        mote.dataset(MODELS / f"digits_{part}.npz", labelled=True).take(slice(80)) for part in ("train", "test")
    )
    return mote.search(
        train,
        test=test,
        space=SPACES,
        target="cortex-m4",
        epochs=2,
        trials=4,
        finalists=4,
        device="cpu",
        **options,
    )


def facts(result: SearchResult) -> dict[str, Any]:
    """All but time and place."""
    return {**result.json(), "spent": None, "options": None, "command": None}


@pytest.fixture(scope="module")
def alone() -> SearchResult:
    """The search in one process."""
    return searched()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["processes", "cluster"])
def test_models_are_the_same_to_the_byte(place: str, alone: SearchResult, request: pytest.FixtureRequest) -> None:
    options = {"workers": 1} if place == "processes" else {"scheduler": request.getfixturevalue("scheduler")}
    other = searched(**options)
    assert facts(other) == facts(alone)
    assert {m.family for m in (*alone.members, *alone.dominated)} == {"shared", "trained"}
    for member in (*alone.members, *alone.dominated):
        assert other[member.name].files == member.files
