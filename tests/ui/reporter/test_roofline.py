"""What bounds layers: constructed cases, and the layers of a profile."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mote
from mote.bench.measure.profiler.result import LayerProfile, Mix, Slow
from mote.hardware import targets
from mote.ui.reporter.sections.roofline import LayerBound, bound, explained, flash_bandwidth, roofline, spent
from mote.ui.reporter.subject import Subject
from tests.ui.reporter.conftest import MODELS


def layer(multiply: int, memory: int, other: int, waits: int, macs: int = 100) -> LayerProfile:
    """A layer with these cycles, half of the waits for code."""
    cycles = multiply + memory + other + waits
    slow = Slow(waits // 2, waits - waits // 2)
    return LayerProfile(
        "3", "conv", "CONV_2D", "", macs, 0, cycles, 1.0, 0.25, slow, "conv", Mix(multiply, memory, other)
    )


@pytest.mark.parametrize(
    ("cycles", "kind"),
    [
        ((50, 20, 20, 10), LayerBound.COMPUTE),
        ((20, 50, 20, 10), LayerBound.LOADS),
        ((20, 20, 50, 10), LayerBound.OVERHEAD),
        ((20, 20, 20, 40), LayerBound.FLASH),
        ((25, 25, 25, 25), LayerBound.COMPUTE),
    ],
)
def test_a_layer_is_bound_by_what_takes_most_cycles(cycles: tuple[int, int, int, int], kind: LayerBound) -> None:
    one = layer(*cycles)
    shares = spent(one)
    assert shares is not None and bound(shares) is kind
    assert sum(shares.values()) == pytest.approx(1)
    said = explained(one, shares, 4)
    assert "1.00 MACs a cycle, 25% of 4" in said and f"{max(shares.values()):.0%} {kind}" in said


def test_without_kinds_of_instructions_nothing_is_said() -> None:
    assert spent(replace(layer(1, 1, 1, 1), mix=None)) is None


def test_flash_is_as_fast_as_its_lines_come() -> None:
    assert flash_bandwidth(targets.load("cortex-m4")) is None, "without wait states there is no roof"
    assert flash_bandwidth(targets.load("stm32l4r5")) == pytest.approx(8 / (8 / 4 + 5))


def test_points_are_those_of_the_profile(profiled: Subject) -> None:
    told, profile = roofline(profiled), profiled.profile
    assert told is not None and profile is not None and told["measured"]
    for point, one in zip(told["points"], profile.layers, strict=True):
        number, macs, constants, activations, cycles, kind, sentence = point
        assert (number, macs, cycles) == (one.number, one.macs, one.cycles)
        assert constants == one.waits.loaded and activations > 0 and kind in list(LayerBound)
        if one.peak:
            assert macs / cycles <= told["peak"] and f"{one.peak:.0%} of {told['peak']}" in sentence
    first = profiled.compiled.plan.works[0][0]
    graph = profiled.compiled.plan.graph
    assert told["points"][0][3] >= graph.tensors[first.inputs[0]].nbytes + graph.tensors[first.outputs[0]].nbytes


def test_without_a_profile_cycles_are_the_estimate() -> None:
    compiled = mote.compile(MODELS / "digits.tflite", target="cortex-m4")
    told = roofline(Subject(compiled, reason="nothing runs it"))
    assert told is not None and not told["measured"]
    assert sum(point[4] for point in told["points"]) == pytest.approx(compiled.cost, abs=len(told["points"]))
    assert {point[5] for point in told["points"]} == {None}


def test_a_core_without_a_known_peak_has_no_roofline() -> None:
    assert roofline(Subject(mote.compile(MODELS / "digits.tflite", target="host"))) is None
