"""Files of spaces: a space in a dozen lines, the spaces that come with Mote, and messages for all that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.optimize.nas.spaces.space import KINDS, SearchSpace
from mote.optimize.nas.spaces.space_file import builtin, builtin_names, read_space, spaces_for
from mote.optimize.nas.spaces.stage import SpaceHead, SpaceStage

OWN = """
name = "my-space"
resolution = [24, 32]
preprocess = ["gray,scale=1/255", "scale=1/255"]

[stem]
block = "conv"
width = [8, 16]
stride = [1, 2]

[[stage]]
block = "mobile"
width = [16, 24, 32]
depth = [1, 2, 3]
kernel = [3, 5]
expand = [2, 3, 4, 6]
stride = 2
precision = ["int8", "int4"]

[head]
hidden = [16, 32]
"""


def read(folder: Path, text: str) -> SearchSpace:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return read_space(path)


def test_a_file_is_the_space_in_python(tmp_path: Path) -> None:
    mobile = SpaceStage(
        "mobile",
        width=[16, 24, 32],
        depth=[1, 2, 3],
        kernel=[3, 5],
        expand=[2, 3, 4, 6],
        stride=2,
        precision=["int8", "int4"],
    )
    space = read(tmp_path, OWN)
    stem = SpaceStage("conv", width=[8, 16], stride=[1, 2])
    steps = ["gray,scale=1/255", "scale=1/255"]
    assert space == SearchSpace("my-space", (mobile,), stem, SpaceHead(hidden=[16, 32]), [24, 32], steps)
    assert space.network(space.largest(), (48, 48, 3), 4).preprocess == "resize=32x32,scale=1/255"
    assert space.shared


def test_a_file_without_a_name_gives_its_own(tmp_path: Path) -> None:
    assert read(tmp_path, '[[stage]]\nblock = "conv"\nwidth = 4').name == "own"


STAGE = '[[stage]]\nblock = "conv"\nwidth = 4\n'


@pytest.mark.parametrize(
    ("text", "where", "reason", "remedy"),
    [
        ("stage = [", "", "not valid TOML", "has examples"),
        ("", "space 'own'", "it has no stage", "add [[stage]]"),
        ("stag = 3", "", "there is no key 'stag'", "did you mean: stage"),
        ("stage = 3", "", "stage is 3", "a list of tables"),
        ("stage = [3]", "stage 1", "is 3", "write [[stage]]"),
        ("name = 3\n" + STAGE, "", "name is 3", "it takes a text"),
        ("name = ''\n" + STAGE, "space", "it has no name", "begin with name"),
        ("causal = 1\n" + STAGE, "", "causal is 1", "true or false"),
        ('kinds = ["images"]\n' + STAGE, "space 'own'", "no kind 'images'", "did you mean: image"),
        (STAGE + "[[stage]]\nwidth = 3", "stage 2", "names no block", 'add block = "conv"'),
        (STAGE + '[[stage]]\nblock = "mobil"', "stage 2", "block is 'mobil'", "did you mean: mobile"),
        (STAGE + '[[stage]]\nblock = ["mobile"]', "stage 2", "block is ['mobile']", "name one of conv"),
        (STAGE + "kernels = 3", "stage 1", "there is no key 'kernels'", "did you mean: kernel"),
        (STAGE + "expand = 3", "stage 1", "block 'conv' takes no expand", "it takes depth, precision, width"),
        (STAGE + "kernel = []", "stage 1", "kernel is an empty list", "give a value"),
        (STAGE + "kernel = [3, 3]", "stage 1", "kernel has 3 twice", "every value once"),
        (STAGE + "kernel = 0", "stage 1", "kernel is 0", "a whole number of at least 1"),
        (STAGE + 'kernel = "3x"', "stage 1", "kernel is '3x'", 'rows and columns such as "5x1"'),
        (STAGE + "kernel = [[3, 5]]", "stage 1", "kernel is [3, 5]", 'rows and columns such as "5x1"'),
        (STAGE + "depth = [1, 2.5]", "stage 1", "depth is 2.5", "a whole number"),
        (STAGE + "stride = true", "stage 1", "stride is True", "a whole number"),
        (STAGE + "precision = 8", "stage 1", "precision is 8", "one of int4, int8, int16"),
        (STAGE + 'precision = "int2"', "stage 1", "precision is 'int2'", "did you mean: int8, int4"),
        (STAGE + 'activation = "relu7"', "stage 1", "activation is 'relu7'", "did you mean: relu"),
        ('[stem]\nblock = "conv"', "stem", "block 'conv' needs width", "add width"),
        ('[stem]\nblock = "conv"\nwidth = 4\ndepth = 2', "space 'own'", "the stem has a depth", "make it a stage"),
        (STAGE + '[head]\npool = "means"', "head", "pool is 'means'", "did you mean: mean"),
        (STAGE + "[head]\nresolution = 3", "head", "there is no key 'resolution'", "write it above the first table"),
        ("resolution = [0.5, 24]\n" + STAGE, "space 'own'", "resolution is [0.5, 24]", "give rows as whole numbers"),
        ("resolution = []\n" + STAGE, "space 'own'", "resolution is an empty list", "give a value"),
        ("preprocess = 3\n" + STAGE, "space 'own'", "preprocess is 3", "give steps as text"),
        ('preprocess = "greys"\n' + STAGE, "option preprocess", "'greys' is no step", "did you mean"),
        ('resolution = 8\npreprocess = "resize=4x4"\n' + STAGE, "space 'own'", "both resolution", "leave out one"),
    ],
)
def test_files_that_are_wrong_are_explained(tmp_path: Path, text: str, where: str, reason: str, remedy: str) -> None:
    with pytest.raises(MoteError) as caught:
        read(tmp_path, text)
    assert str(tmp_path / "own.toml") in caught.value.where
    assert where in caught.value.where
    assert reason in caught.value.reason
    assert remedy in caught.value.remedy


def test_spaces_that_come_with_mote_are_found_by_name_and_kind() -> None:
    for name in builtin_names():
        space = builtin(name)
        assert space.name == name
        assert space.about
        assert space.kinds
    with pytest.raises(MoteError, match="there is no space 'mobil'") as caught:
        builtin("mobil")
    assert "did you mean: mobile" in caught.value.remedy


FIRST = {"image": "mobile", "spectrogram": "temporal", "series": "conv1d", "table": "mlp"}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_data_has_spaces(kind: str) -> None:
    spaces = spaces_for(kind)
    assert spaces[0].name == FIRST[kind]
    assert all(kind in space.kinds for space in spaces)


def test_unknown_kinds_of_data_are_refused() -> None:
    with pytest.raises(MoteError, match="no kind of data 'sound'"):
        spaces_for("sound")
