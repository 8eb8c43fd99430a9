"""Spaces: random choices give valid networks, variation stays inside, and the largest network contains all others."""

from __future__ import annotations

import json
from itertools import pairwise, product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.optimize.nas.spaces.blocks import BLOCKS, REQUIRED
from mote.optimize.nas.spaces.layers import ConvLayer, Shape
from mote.optimize.nas.spaces.network import Network
from mote.optimize.nas.spaces.options import STAGE_OPTIONS
from mote.optimize.nas.spaces.space import SearchSpace
from mote.optimize.nas.spaces.space_file import builtin, builtin_names
from mote.optimize.nas.spaces.stage import SpaceHead, SpaceStage

SHAPES: dict[str, tuple[Shape, ...]] = {
    "image": ((32, 32, 3), (28, 28, 1), (24, 96, 1), (3, 5, 2)),
    "spectrogram": ((49, 10, 1), (30, 40, 1), (3, 2, 1)),
    "series": ((128, 1, 3), (5, 1, 1)),
    "table": ((30,), (1,)),
}
VALUES = {
    "width": st.sampled_from((1, 4, 8, 12)),
    "depth": st.integers(1, 3),
    "stride": st.sampled_from((1, 2, "2x1", "1x3")),
    "kernel": st.sampled_from((1, 2, 3, 5, "3x1", "5x3", "10x4")),
    "expand": st.sampled_from((0.25, 0.5, 1, 2.0, 3, 6)),
    "dilation": st.sampled_from((1, 2, "4x1")),
    "heads": st.integers(1, 4),
    "activation": st.sampled_from(("none", "relu", "relu6", "hardswish")),
    "precision": st.sampled_from(("int4", "int8", "int16")),
    "pool": st.sampled_from(("mean", "last", "flatten")),
    "hidden": st.sampled_from((0, 4, 8)),
}
"""Values of each option."""


def options(name: str) -> st.SearchStrategy[object]:
    """A value, or several to choose from."""
    return VALUES[name] | st.lists(VALUES[name], min_size=1, max_size=3, unique=True)


@st.composite
def stages(draw: st.DrawFn, blocks: tuple[str, ...], stem: bool = False) -> SpaceStage:
    block = draw(st.sampled_from(blocks))
    taken = {**BLOCKS[block].options, "precision": "int8"} | ({} if stem else {"depth": 1})
    given = {name: draw(options(name)) for name in taken if taken[name] == REQUIRED or draw(st.booleans())}
    return SpaceStage(block, **given)  # type: ignore[arg-type]


@st.composite
def spaces(draw: st.DrawFn) -> SearchSpace:
    """A space for samples of any three axes: sequences begin with whole rows."""
    sequence = draw(st.booleans())
    stem = draw(stages(("frames",) if sequence else ("conv", "separable", "pool"), stem=True))
    kinds = tuple(name for name, block in BLOCKS.items() if name != "mlp" and (sequence or not block.sequence))
    names = ("pool", "width", "hidden", "precision")
    head = SpaceHead(**{name: draw(options(name)) for name in names if draw(st.booleans())})  # type: ignore[arg-type]
    resolution = draw(st.sampled_from((None, 0.5, (0.5, 1.0), (7, 12))))
    following = tuple(draw(st.lists(stages(kinds), min_size=1, max_size=3)))
    return SearchSpace("drawn", following, stem, head, resolution, causal=draw(st.booleans()))


SAMPLES = st.sampled_from(((20, 12, 1), (9, 9, 3), (3, 2, 2), (16, 1, 4), (1, 1, 1)))


@settings(max_examples=60, deadline=None)
@given(space=spaces(), shape=SAMPLES, seed=st.integers(0, 999))
def test_any_choice_of_any_space_is_a_network(space: SearchSpace, shape: Shape, seed: int) -> None:
    rng = Random(seed)
    one, other = space.random(rng), space.random(rng)
    mutated, crossed = space.mutated(one, rng), space.crossed(one, other, rng)
    for choice in (one, other, mutated, crossed, space.smallest(), space.largest()):
        again = json.loads(json.dumps(choice))
        assert again == choice
        network = space.network(again, shape, 5)
        assert network.shapes["head.logits"] == (5,)
        assert network == space.network(choice, shape, 5)
        assert set(network.precisions) <= set(network.shapes)
    assert (mutated != one) == bool(space.decisions)
    assert all(value in (one.get(name), other.get(name)) for name, value in crossed.items())
    if space.shared:
        check_contained(space.network(one, shape, 5), space.network(space.largest(), shape, 5))


def check_contained(network: Network, largest: Network) -> None:
    """Every layer with weights is in the largest network, with the same inputs, of no less size and the same kind."""
    large = {layer.name: layer for layer in largest.layers}
    for layer in network.layers:
        parameters = layer.parameters(*network.given(layer))
        assert type(large[layer.name]) is type(layer)
        whole = large[layer.name].parameters(*largest.given(large[layer.name]))
        assert parameters.keys() == whole.keys()
        assert set(getattr(layer, "branches", ())) <= set(getattr(large[layer.name], "branches", ()))
        for name, shape in parameters.items():
            assert all(a <= b for a, b in zip(shape, whole[name], strict=True)), layer.name


@pytest.mark.parametrize("name", builtin_names())
def test_spaces_of_mote(name: str) -> None:
    space = builtin(name)
    rng = Random(name)
    for shape in (shape for kind in space.kinds for shape in SHAPES[kind]):
        largest = space.network(space.largest(), shape, 10)
        for _ in range(10):
            network = space.network(space.random(rng), shape, 10)
            assert network.shapes["head.logits"] == (10,)
            assert network.parameters <= largest.parameters
            if space.shared:
                check_contained(network, largest)


@pytest.mark.parametrize("name", ["fused", "mobile", "residual", "repconv", "separable"])
def test_spaces_of_images_reach_from_the_least_part_to_large_ones(name: str) -> None:
    space = builtin(name)
    smallest, largest = (space.network(choice, (32, 32, 3), 10) for choice in (space.smallest(), space.largest()))
    assert smallest.macs < 100_000
    assert smallest.parameters < 6_000
    assert 13_000_000 < largest.macs < 30_000_000


def test_the_residual_space_contains_resnet_8() -> None:
    space = builtin("residual")
    choice = space.smallest() | {"resolution": 1.0, "stem.width": 16, "stem.stride": 1}  # type: ignore[operator]
    network = space.network(choice | {"stage2.width": 32, "stage3.width": 64}, (32, 32, 3), 10)
    assert network.macs == 12_501_632
    assert network.preprocess == ""


def test_decisions_are_named_by_stage_and_block() -> None:
    stage = SpaceStage("mobile", width=(16, 8), depth=(1, 3), kernel=(5, 3), stride=(1, 2))
    space = SearchSpace("s", (stage,), SpaceStage("conv", width=(4, 8), kernel=(3, 5)))
    assert {decision.name: decision.values for decision in space.decisions} == {
        "stem.width": (4, 8),
        "stem.kernel": (3, 5),
        "stage1.width": (8, 16),
        "stage1.depth": (1, 3),
        "stage1.stride": (2, 1),
        "stage1.block1.kernel": (3, 5),
        "stage1.block2.kernel": (3, 5),
        "stage1.block3.kernel": (3, 5),
    }
    smallest = space.smallest()
    assert "stage1.block1.kernel" in smallest
    assert "stage1.block2.kernel" not in smallest
    assert space.largest()["stage1.stride"] == 1
    assert [layer.name for layer in space.network(space.largest(), (8, 8, 1), 2).layers] == [
        "stem.conv",
        *(f"stage1.block1.{layer}" for layer in ("expand", "depthwise", "project")),
        *(f"stage1.block2.{layer}" for layer in ("expand", "depthwise", "project", "add")),
        *(f"stage1.block3.{layer}" for layer in ("expand", "depthwise", "project", "add")),
        "head.mean",
        "head.logits",
    ]


def test_choices_are_described_by_widths_and_depths() -> None:
    stages = (SpaceStage("residual", depth=(1, 2)), SpaceStage("conv", width=(8, 16)))
    space = SearchSpace("s", stages, SpaceStage("conv", width=4), resolution=(0.5, 1.0))
    assert space.described(space.largest()) == "4, residual x 2, 16 at 1.0"


def test_the_size_of_a_space_counts_different_choices() -> None:
    stage = SpaceStage("separable", width=(4, 8), depth=(1, 2), kernel=(3, 5))
    space = SearchSpace("s", (stage,), SpaceStage("conv", width=(4, 8), kernel=(3, 5)))
    rng = Random(0)
    drawn = {json.dumps(space.random(rng)) for _ in range(2000)}
    assert len(drawn) == space.size == 2 * 2 * 2 * (2 + 4)


def test_depth_that_grows_draws_what_the_new_blocks_need() -> None:
    space = SearchSpace("s", (SpaceStage("conv", width=4, depth=(1, 2, 3), kernel=(3, 5)),))
    rng = Random(3)
    choice = space.smallest()
    for _ in range(50):
        choice = space.mutated(choice, rng)
        space.check(choice)
        assert sum(name.endswith("kernel") for name in choice) == choice["stage1.depth"]


def test_precision_of_a_stage_is_that_of_its_weights() -> None:
    stage = SpaceStage("residual", width=8, precision="int4")
    space = SearchSpace("s", (stage,), SpaceStage("conv", width=8), SpaceHead(precision="int16"))
    precisions = space.network({}, (8, 8, 1), 2).precisions
    assert precisions == {
        **dict.fromkeys((f"stage1.block1.{layer}" for layer in ("conv1", "conv2", "shortcut")), "int4"),
        **dict.fromkeys(("head.mean", "head.logits"), "int16"),
    }


@pytest.mark.parametrize("name", ["mobile", "bc-resnet", "mlp"])
def test_precisions_are_set_for_stages_and_head(name: str) -> None:
    space = builtin(name)
    several = space.with_precision(("int8", "int4"))
    new = {decision.name: decision.values for decision in several.decisions if decision not in space.decisions}
    stages = ["stem"] * (space.stem is not None) + [f"stage{n}" for n in range(1, len(space.stages) + 1)]
    assert new == {f"{part}.precision": ("int4", "int8") for part in (*stages, "head")}
    assert several.with_precision("int8").decisions == space.decisions


def test_a_resolution_is_a_step_behind_those_on_pixels() -> None:
    space = SearchSpace("s", (SpaceStage("conv", width=4),), resolution=(16, 24), preprocess="gray,scale=1/255")
    network = space.network({"resolution": 16}, (32, 48, 1), 2)
    assert (network.input, network.preprocess) == ((16, 24, 1), "gray,resize=24x16,scale=1/255")
    whole = SearchSpace("s", (SpaceStage("conv", width=4),), resolution=(0.5, 1.0))
    assert whole.network({"resolution": 1.0}, (32, 48, 1), 2).preprocess == ""
    with pytest.raises(MoteError, match="no image can be resized"):
        space.network({"resolution": 16}, (30,), 2)


def test_kernels_are_cut_to_what_windows_read() -> None:
    """A sequence has one column, and so do kernels over it; branches are smaller than their kernel."""
    space = SearchSpace("s", (SpaceStage("tenet", kernel=9),), SpaceStage("frames", width=4), causal=True)
    layers = {layer.name: layer for layer in space.network({}, (20, 10, 1), 2).layers}
    stem, depthwise = layers["stem.conv"], layers["stage1.block1.depthwise"]
    assert isinstance(stem, ConvLayer)
    assert isinstance(depthwise, ConvLayer)
    assert (stem.kernel, stem.stride, stem.padding) == ((3, 10), (1, 10), "causal")
    assert (depthwise.kernel, depthwise.branches) == ((9, 1), (3, 5, 7))


@pytest.mark.parametrize(
    ("space", "shared"),
    [
        (SearchSpace("s", (SpaceStage("conv", width=(4, 8), kernel=(3, 5)),)), True),
        (SearchSpace("s", (SpaceStage("conv", width=4, kernel=("3x1", "1x5")),)), False),
        (SearchSpace("s", (SpaceStage("conv", width=4),), head=SpaceHead(hidden=(0, 8))), False),
        (SearchSpace("s", (SpaceStage("conv", width=4),), head=SpaceHead(pool="flatten")), False),
        (SearchSpace("s", (SpaceStage("frames", width=4),), resolution=(8, 12)), False),
        (SearchSpace("s", (SpaceStage("frames", width=4), SpaceStage("gru", width=4))), False),
    ],
)
def test_shared_spaces_are_those_whose_weights_are_nested(space: SearchSpace, shared: bool) -> None:
    assert space.shared is shared


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ({}, "'stage1.width' is None"),
        ({"stage1.width": 5}, "'stage1.width' is 5"),
        ({"stage1.width": 4, "stage1.with": 4}, "no decision 'stage1.with'"),
    ],
)
def test_choices_of_other_spaces_are_refused(choice: dict[str, int], reason: str) -> None:
    space = SearchSpace("s", (SpaceStage("conv", width=(4, 8)),))
    with pytest.raises(MoteError, match=reason):
        space.network(choice, (8, 8, 1), 2)


@pytest.mark.parametrize(
    ("stage", "shape", "reason"),
    [
        (SpaceStage("gru", width=4), (8, 8, 1), "takes sequences, not maps of 8 columns"),
        (SpaceStage("conv", width=4), (8,), "takes no vector"),
    ],
)
def test_blocks_refuse_samples_that_are_not_theirs(stage: SpaceStage, shape: Shape, reason: str) -> None:
    with pytest.raises(MoteError, match=reason):
        SearchSpace("s", (stage,)).network({}, shape, 2)


def test_values_are_ordered_by_the_size_of_networks() -> None:
    stage = SpaceStage("bc_resnet", width=(8, 4), stride=("1x2", 1), dilation=(1, 4, 2), precision=("int8", "int4"))
    ordered = {"width": (4, 8), "stride": ("1x2", 1), "dilation": (4, 2, 1), "precision": ("int4", "int8")}
    assert {name: stage.values[name] for name in ordered} == ordered


def test_every_option_is_taken_by_a_block_or_the_head() -> None:
    taken = {"depth", "precision", "pool", "hidden"} | {name for block in BLOCKS.values() for name in block.options}
    assert taken == set(STAGE_OPTIONS)


def test_names_of_layers_do_not_depend_on_the_choice() -> None:
    """Blocks of a stage differ only in their numbers: layers of one name compute the same in all networks."""
    space = builtin("mobile")
    rng = Random(1)
    networks = [space.network(space.random(rng), (32, 32, 3), 10) for _ in range(20)]
    for one, other in pairwise(networks):
        names = {layer.name: layer.inputs for layer in one.layers}
        shared = {layer.name: layer.inputs for layer in other.layers if layer.name in names}
        inside = [n for n, inputs in shared.items() if n.rpartition(".")[0] == inputs[0].rpartition(".")[0]]
        assert all(names[name] == shared[name] for name in inside)


def test_shapes_of_all_kinds_are_tried() -> None:
    kinds = {kind for name, kind in product(builtin_names(), SHAPES) if kind in builtin(name).kinds}
    assert kinds == set(SHAPES)
