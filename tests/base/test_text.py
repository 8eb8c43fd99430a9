"""Names of layers, escaped and shortened for display."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mote.base.text import SHORT, cut, deviation, short_names

SEGMENTS = st.text("ab/;._1é\x1b", max_size=30)


def test_a_short_name_is_the_layer_that_most_of_the_fused_operators_belong_to() -> None:
    convolution = "model/activation/Relu;model/bn/FusedBatchNormV3;model/conv2d/BiasAdd;model/conv2d_4/Conv2D;"
    names = [
        convolution + "model/conv2d/Conv2D1",
        "model/activation_2/Relu;model/add/add",
        "model/activation_3/Relu;model/add_1/add",
        "model/dense/MatMul;model/dense/BiasAdd",
        "Identity",
    ]
    assert short_names(names) == ["conv2d", "add", "add_1", "dense", "Identity"]


def test_a_short_name_has_as_many_segments_as_tell_layers_apart() -> None:
    names = ["/conv/Conv", "/conv/Relu", "/pool/GlobalAveragePool", "/block/block.3/conv/conv.0/Conv"]
    assert short_names(names) == ["conv/Conv", "conv/Relu", "pool", "block"]
    deep = [f"/features/features.{i}/conv/conv.{j}/Conv" for i in (3, 4) for j in (0, 1)]
    assert short_names(deep) == ["features.3/conv.0", "features.3/conv.1", "features.4/conv.0", "features.4/conv.1"]


def test_layers_of_one_name_are_numbered() -> None:
    assert short_names(["conv/Conv2D", "conv/Conv2D", "conv/Conv2D"]) == ["conv", "conv~2", "conv~3"]


def test_what_is_taken_is_not_given_again() -> None:
    assert short_names(["input", "model/dense/MatMul"], taken=["input", "dense"]) == ["input~2", "dense/MatMul"]


@given(st.lists(SEGMENTS, max_size=12), st.lists(SEGMENTS, max_size=3))
def test_short_names_are_unique_short_and_safe_to_print(names: list[str], taken: list[str]) -> None:
    short = short_names(names, taken=taken)
    assert len(set(short)) == len(names)
    assert all(0 < len(name) <= SHORT and name.isprintable() and name not in taken for name in short)
    assert short_names(names, taken=taken) == short


def test_cut_keeps_the_ends() -> None:
    assert cut("0123456789", 10) == "0123456789"
    assert cut("0123456789a", 10) == "0123..789a"


def test_errors_of_estimates_are_said_in_words() -> None:
    assert (deviation(-0.62), deviation(0.034, 1), deviation(0.0004)) == ("62% too low", "3.4% too high", "just right")
    assert deviation(2.5) == "250% too high" and deviation(-0.001, 1) == "0.1% too low"
