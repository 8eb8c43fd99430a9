"""Spaces of classical models: choices stay within the space, and files of them."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from mote.base.errors import MoteError
from mote.optimize.nas.classical.classical_space import KIND, KINDS, ClassicalSpace, described
from mote.optimize.nas.named_spaces import named_space
from mote.optimize.nas.spaces.space import SearchSpace


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


def read(folder: Path, text: str) -> ClassicalSpace:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    space = named_space(path)
    assert isinstance(space, ClassicalSpace)
    return space


def test_files(tmp_path: Path) -> None:
    space = read(tmp_path, 'name = "small"\n[tree]\nleaves = [2, 3]\nfeatures = "int8"\n[bayes]\n')
    assert space.name == "small" and set(space.kinds) == {"tree", "bayes"}
    assert space.kinds["tree"]["leaves"] == (2, 3) and space.kinds["tree"]["features"] == ("int8",)
    assert space.kinds["tree"]["smallest"] == KINDS["tree"]["smallest"]
    assert described(space.firsts()[0]).startswith("tree: leaves 3, ")
    assert read(tmp_path, "[linear]\ninverse = 1\n").name == "own"


def test_names_and_files_tell_the_kind_of_space(tmp_path: Path) -> None:
    assert named_space("classical") == ClassicalSpace() and named_space(ClassicalSpace("a")).name == "a"
    assert isinstance(named_space("mlp"), SearchSpace)
    path = tmp_path / "own.toml"
    path.write_text('[[stage]]\nblock = "mlp"\nwidth = 8\n')
    assert isinstance(named_space(str(path)), SearchSpace)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[tree]\n[bush]\n", "own.toml: there is no kind 'bush'"),
        ("[tree]\n[[stage]]\nblock = 'mlp'\n", "own.toml: there is no kind 'stage'"),
        ("tree = 3\n", "own.toml: tree is 3"),
        ("name = 3\n[tree]\n", "own.toml: name is 3"),
        ("[tree]\nwings = 2\n", "own.toml: tree: there is no option 'wings'"),
        ("[tree]\nleaves = []\n", "own.toml: tree.leaves: is an empty list"),
        ("[tree]\nleaves = [2, 1]\n", "own.toml: tree.leaves: is 1"),
        ("[tree]\npruning = -1\n", "own.toml: tree.pruning: is -1"),
        ("[forest]\nshare = [0.5, 2]\n", "own.toml: forest.share: is 2"),
        ("[linear]\nloss = 'least'\n", "own.toml: linear.loss: is 'least'"),
        ("[linear]\ninverse = true\n", "own.toml: linear.inverse: is True"),
        ("[tree\n", "own.toml: not valid TOML"),
        ("[bush]\n", "own.toml: there is no key 'bush'"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(MoteError, match=re.escape(reason)):
        read(tmp_path, text)


def test_spaces_in_python_are_checked() -> None:
    for kinds, reason in (({}, "no kind of model"), ({"tree": {"leaves": (2,)}}, "tree: 'smallest' is missing")):
        with pytest.raises(MoteError, match=reason):
            ClassicalSpace("own", kinds)
