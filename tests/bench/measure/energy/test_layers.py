"""The energy of layers by marks: known waveforms give known joules, and what cannot be told is not invented."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.bench.measure.energy.capture import Capture
from mote.bench.measure.energy.layers import MeasuredEnergy, measured_energy
from tests.bench.measure.energy.waveforms import Waveform, layers

NUMBERS = [str(n) for n in range(40)]
FIVE = layers(300e-6, 80e-6, 150e-6, 900e-6, 60e-6)


def told(wave: Waveform, capture: Capture, **how: object) -> MeasuredEnergy:
    error = how.pop("error", 0.0)
    clock = how.pop("clock_hz", 1e8)
    return measured_energy(capture, wave.turns(clock, error), NUMBERS, **how)  # type: ignore[arg-type]


def check(wave: Waveform, energy: MeasuredEnergy, tolerance: float) -> None:
    """Each group has the energy of its layers; all layers are in one."""
    assert [n for each in energy.layers for n in each.layers] == NUMBERS[: max(wave.works) + 1]
    for each in energy.layers:
        assert each.microjoules == pytest.approx(wave.microjoules([int(n) for n in each.layers]), rel=tolerance)
    assert energy.microjoules == pytest.approx(wave.microjoules(wave.works), rel=tolerance)
    assert sum(each.microjoules for each in energy.layers) == pytest.approx(energy.microjoules)


@pytest.mark.parametrize("steps", [False, True])
def test_a_known_waveform_has_the_known_energy_of_each_layer(steps: bool) -> None:
    energy = told(FIVE, FIVE.capture(2e6, steps=steps))
    check(FIVE, energy, 0.01)
    assert energy.inferences == 10 and not energy.together and energy.interval is not None
    assert energy.seconds == pytest.approx(sum(FIVE.seconds), rel=0.01)
    assert energy.idle_milliwatts == pytest.approx(5.0, rel=0.02) and not energy.idle_subtracted


def test_slow_samples_jitter_noise_and_a_wrong_model_average_out() -> None:
    wave = replace(FIVE, count=150, jitter=0.1)
    energy = told(wave, wave.capture(1e5, noise=0.05), error=0.15)
    check(wave, energy, 0.06)
    for each in energy.layers:
        off = abs(each.microjoules - wave.microjoules([int(each.layers[0])]))
        assert each.interval is not None and off < 2 * each.interval + 1e-3 * energy.microjoules


def test_idle_power_is_taken_off_where_that_is_asked() -> None:
    plain, less = (told(FIVE, FIVE.capture(2e6), subtract_idle=x) for x in (False, True))
    assert less.idle_subtracted
    assert less.microjoules == pytest.approx(plain.microjoules - 5e3 * sum(FIVE.seconds), rel=0.01)


def test_steps_in_rows_are_added_up() -> None:
    wave = Waveform((50e-6,) * 6 + (200e-6,), (0.02, 0.05) * 3 + (0.03,), (0, 1, 0, 1, 0, 1, 2))
    for steps in (False, True):
        check(wave, told(wave, wave.capture(4e6, steps=steps)), 0.02)


@pytest.mark.parametrize("steps", [False, True])
def test_layers_shorter_than_a_sample_are_measured_together(steps: bool) -> None:
    wave = layers(300e-6, 200e-6, 4e-6, 150e-6, 900e-6, 60e-6, count=200)
    energy = told(wave, wave.capture(1e5, steps=steps))
    assert [each.layers for each in energy.together] == [("1", "2", "3")]
    check(wave, energy, 0.04)


def test_a_capture_may_begin_and_end_within_an_inference() -> None:
    capture = FIVE.capture(1e6)
    kept = slice(2600, len(capture.times) - 2600)
    part = replace(capture, times=capture.times[kept], watts=capture.watts[kept], pins={"D0": capture.pins["D0"][kept]})
    energy = told(FIVE, part)
    assert energy.inferences == 8
    check(FIVE, energy, 0.02)


def test_a_clock_that_the_target_does_not_state_is_not_needed() -> None:
    check(FIVE, told(FIVE, FIVE.capture(1e6), clock_hz=None), 0.02)
    check(FIVE, told(FIVE, FIVE.capture(1e6), clock_hz=4e6), 0.02)  # the board runs at another one than its file says


def without_an_edge(capture: Capture, number: int) -> Capture:
    """The pin stays as it is at one edge."""
    level = capture.pins["D0"].copy()
    edges = np.flatnonzero(np.diff(level)) + 1
    level[edges[number] :] ^= 1
    return replace(capture, pins={"D0": level})


@pytest.mark.parametrize("edge", [2, 3, 17, 30, 57])
def test_missing_marks_are_an_error_that_says_how_many_were_seen(edge: int) -> None:
    with pytest.raises(MoteError, match=r"has 59 marks, .* has 6, one at its start and .* 5 steps") as error:
        told(FIVE, without_an_edge(FIVE.capture(2e6), edge))
    assert "sample" in error.value.remedy


@pytest.mark.parametrize("edge", [0, 59])
def test_without_its_start_or_its_end_an_inference_is_left_out(edge: int) -> None:
    energy = told(FIVE, without_an_edge(FIVE.capture(2e6), edge))
    assert energy.inferences == 9 and energy.left_out == 1
    check(FIVE, energy, 0.01)


def test_marks_of_another_model_are_an_error() -> None:
    with pytest.raises(MoteError, match="60 marks"):
        told(layers(100e-6, 100e-6, 100e-6), FIVE.capture(2e6))
    with pytest.raises(MoteError, match="marks, which are not those"):
        told(layers(60e-6, 900e-6, 150e-6, 80e-6, 30e-6, 9e-6, 300e-6), FIVE.capture(2e6))


def test_steps_of_another_model_are_an_error() -> None:
    with pytest.raises(MoteError, match=r"has step 4 at .*: the plan has 4 steps"):
        told(layers(300e-6, 80e-6, 150e-6, 900e-6), FIVE.capture(2e6, steps=True))
    capture = FIVE.capture(2e6, steps=True)
    assert capture.steps is not None
    with pytest.raises(MoteError, match="step 3 is missing"):
        told(FIVE, replace(capture, steps=np.where(capture.steps == 3, 2, capture.steps)))


def test_a_capture_without_marks_needs_the_number_of_inferences() -> None:
    capture = replace(FIVE.capture(1e6), pins={})
    with pytest.raises(MoteError, match="has no marks") as error:
        told(FIVE, capture)
    assert "--inferences" in error.value.remedy
    energy = told(FIVE, capture, count=10)
    assert energy.layers == () and energy.interval is None
    seconds = capture.times[-1] - capture.times[0]
    assert energy.microjoules == pytest.approx(1e5 * capture.watts.mean() * seconds, rel=0.01)
    for count in (0, -3):
        with pytest.raises(MoteError, match="positive"):
            told(FIVE, capture, count=count)


def test_the_pin_with_the_marks_is_named_where_several_change() -> None:
    capture = FIVE.capture(1e6)
    noise = np.arange(len(capture.times)) // 7 % 2
    noisy = replace(capture, pins={**capture.pins, "D3": noise, "D4": 0 * noise})
    with pytest.raises(MoteError, match="2 digital inputs that change: D0, D3"):
        told(FIVE, noisy)
    check(FIVE, told(FIVE, noisy, pin="D0"), 0.02)
    with pytest.raises(MoteError, match="no digital input 'D9'"):
        told(FIVE, noisy, pin="D9")


def test_inferences_with_lost_samples_are_left_out() -> None:
    capture = FIVE.capture(1e6)
    kept = np.ones(len(capture.times), bool)
    kept[2300:2330] = False
    energy = told(FIVE, Capture("x", "csv", capture.times[kept], capture.watts[kept], {"D0": capture.pins["D0"][kept]}))
    assert energy.inferences == 9 and energy.left_out == 1
    check(FIVE, energy, 0.02)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(30e-6, 2e-3), min_size=1, max_size=12),
    st.integers(1, 6),
    st.floats(0.05, 0.95),
    st.floats(0.0, 0.15),
)
def test_any_layers_of_three_samples_are_told_apart(
    seconds: list[float], count: int, phase: float, error: float
) -> None:
    wave = layers(*seconds, count=count)
    energy = told(wave, wave.capture(1e5, phase=phase), error=error)
    assert energy.inferences == count and not energy.together
    for each in energy.layers:
        work = int(each.layers[0])
        border = 2 * 10e-6 * 1e6 * 0.08  # a sample at each end, at most
        assert abs(each.microjoules - wave.microjoules([work])) <= border
