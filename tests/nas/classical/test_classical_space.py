"""Spaces of classical models: choices stay within the space, and files of them."""

from __future__ import annotations

from random import Random

import pytest

from mote.errors import MoteError
from mote.nas.classical.classical_space import KIND, KINDS, ClassicalSpace, described, read_classical


def test_choices_stay_in_the_space() -> None:
    space, rng = ClassicalSpace(), Random(0)
    choice, other = space.random(rng), space.random(rng)
    kinds = set()
    for _ in range(300):
        choice, other = space.mutated(space.crossed(choice, other, rng), rng), space.random(rng)
        options = KINDS[choice[KIND]]
        assert set(choice) == {KIND, *options}
        assert all(choice[name] in values for name, values in options.items())
        kinds.add(choice[KIND])
    assert kinds == set(KINDS)


def test_the_same_seed_makes_the_same_choices() -> None:
    space = ClassicalSpace()
    one, other = ([space.random(rng) for _ in range(5)] for rng in (Random(3), Random(3)))
    assert one == other and one != [space.random(Random(4)) for _ in range(5)]


def test_crossing_takes_from_both() -> None:
    space = ClassicalSpace()
    one = {KIND: "linear", "loss": "hinge", "inverse": 1.0}
    other = {KIND: "linear", "loss": "logistic", "inverse": 10.0}
    bayes = {KIND: "bayes", "smoothing": 1e-9}
    crossed = [space.crossed(one, other, Random(seed)) for seed in range(20)]
    assert {KIND: "linear", "loss": "hinge", "inverse": 10.0} in crossed
    assert space.crossed(one, bayes, Random(0)) in (one, bayes)


def test_a_regression_has_no_classes() -> None:
    kinds = ClassicalSpace().for_task(classes=False).kinds
    assert "bayes" not in kinds and "forest" in kinds


def test_files() -> None:
    space = read_classical('name = "small"\n[tree]\nleaves = [2, 3]\nfeatures = "int8"\n[bayes]\n')
    assert space.name == "small" and set(space.kinds) == {"tree", "bayes"}
    assert space.kinds["tree"]["leaves"] == (2, 3) and space.kinds["tree"]["features"] == ("int8",)
    assert space.kinds["tree"]["smallest"] == KINDS["tree"]["smallest"]
    assert described(space.firsts()[0]).startswith("tree: leaves 3, ")


@pytest.mark.parametrize(
    ("text", "reason"),
    [("[bush]\n", "no kind 'bush'"), ("[tree]\nwings = 2\n", "'wings' of 'tree'"), ("[tree\n", "is no TOML")],
)
def test_wrong_files(text: str, reason: str) -> None:
    with pytest.raises(MoteError, match=reason):
        read_classical(text)
