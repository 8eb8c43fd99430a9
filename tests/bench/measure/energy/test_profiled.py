"""A model's capture, from its file to the lines of `mote profile`, the report and a fitted target."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mote
import mote.hardware.targets as targets
from mote.base.errors import MoteError
from mote.bench.measure.energy.meters import read_capture
from mote.bench.measure.energy.profiled import energy_of
from mote.bench.measure.profiler import Profile
from mote.bench.measure.profiler.measured import BoardMeasurement
from mote.bench.measure.profiler.result import Energy
from mote.compiler.lower.program import program
from mote.deploy.boards.facts import CYCLES, BoardFacts
from mote.ui.cli import main
from mote.ui.cli.commands.profile import print_text
from mote.ui.reporter.sections.cost import cost
from mote.ui.reporter.sections.overview import overview
from mote.ui.reporter.subject import Subject, metered
from tests.bench.measure.energy.waveforms import Waveform
from tests.helpers.support import emulated

pytest.importorskip("capstone")
DIGITS = Path(__file__).parents[4] / "models" / "digits.tflite"
TARGET = "stm32l4r5"


@pytest.fixture(scope="module")
def compiled() -> mote.Compiled:
    emulated(TARGET)
    return mote.compile(DIGITS, target=TARGET)


@pytest.fixture(scope="module")
def profile(compiled: mote.Compiled) -> Profile:
    return mote.profile(compiled)


def waveform(compiled: mote.Compiled, profile: Profile) -> Waveform:
    """Inferences of the model on a board that is a little slower than its profile."""
    schedule = program(compiled.plan).schedule
    seconds = [profile.layers[work].cycles / 120e6 * 1.05 / schedule.count(work) for work in schedule]
    watts = [0.03 + 0.004 * (work % 4) for work in schedule]
    return Waveform(tuple(seconds), tuple(watts), schedule, pause=1e-3, count=20)


@pytest.fixture(scope="module")
def capture(compiled: mote.Compiled, profile: Profile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of a Power Profiler Kit II at 3 V."""
    sampled = waveform(compiled, profile).capture(1e5)
    file = tmp_path_factory.mktemp("energy") / "ppk2.csv"
    rows = zip(1e3 * sampled.times, 1e6 * sampled.watts / 3.0, sampled.pins["D0"], strict=True)
    lines = (f"{time:.5f},{current:.3f},{level}0000000\n" for time, current, level in rows)
    file.write_text("Timestamp(ms),Current(uA),D0-D7\n" + "".join(lines))
    return file


@pytest.mark.slow
def test_the_energy_of_each_layer_of_a_model(compiled: mote.Compiled, profile: Profile, capture: Path) -> None:
    energy = energy_of(profile, compiled.plan, read_capture(capture, volts=3.0))
    wave = waveform(compiled, profile)
    assert energy.meter == "ppk2" and energy.inferences == 20
    assert energy.microjoules == pytest.approx(wave.microjoules(wave.works), rel=0.02)
    numbers = [layer.number for layer in profile.layers]
    for each in energy.layers:
        wanted = wave.microjoules([numbers.index(number) for number in each.layers])
        assert each.microjoules == pytest.approx(wanted, rel=0.15, abs=0.1)
    assert sorted(n for each in energy.layers for n in each.layers) == sorted(numbers)


@pytest.mark.slow
def test_the_report_shows_it(compiled: mote.Compiled, profile: Profile, capture: Path) -> None:
    subject = metered(Subject(compiled, profile=profile), capture, None)
    assert subject.profile is not None and subject.profile.measured is not None
    told = cost(subject)["metered"]
    assert told["microjoules"] == overview(subject)["metered"] == subject.profile.measured.microjoules
    assert [n for numbers, _ in told["layers"] for n in numbers] == [layer.number for layer in profile.layers]
    with pytest.raises(MoteError, match="needs a profile"):
        metered(Subject(compiled, reason="no emulator"), capture, None)


def test_the_lines_of_the_command(
    compiled: mote.Compiled, profile: Profile, capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = energy_of(profile, compiled.plan, read_capture(capture, volts=3.0), subtract_idle=True)
    print_text(replace(profile, measured=measured), functions=False)
    out = capsys.readouterr().out
    assert "the mean of 20 inferences" in out and "which is subtracted" in out and "ppk2, 100 kHz" in out
    assert "110 µA/MHz at 3 V" in out and re.search(r"the estimate is \d+% too (high|low)", out)
    model = Energy(12.5, None, None, "2 captures", 0.031)
    together = replace(measured, layers=(replace(measured.layers[0], layers=("0", "1")),), left_out=2, interval=None)
    print_text(replace(profile, measured=together, energy=model), functions=False)
    out = capsys.readouterr().out
    assert "about 12.5 µJ, by the target's energy model, whose error is 3.1%" in out
    assert "too short to be told apart at that rate: layers 0+1" in out and "2 more left out" in out
    assert main(["profile", "--elf", "x.elf", "--entry", "f", "--capture", str(capture)]) == 1
    assert "--capture is for models" in capsys.readouterr().err


@pytest.mark.slow
def test_a_fitted_model_goes_before_the_data_sheet(
    compiled: mote.Compiled, profile: Profile, capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = energy_of(profile, compiled.plan, read_capture(capture, volts=3.0))
    (tmp_path / "digits.json").write_text(json.dumps(replace(profile, measured=measured).json()))
    file = str(tmp_path / "mine.toml")
    assert main(["fit-energy", str(tmp_path / "digits.json"), "-o", file]) == 0
    assert "multiply_pj:" in capsys.readouterr().out
    model = targets.load(file).energy
    assert model is not None and model.error > 0
    arguments = [str(DIGITS), "-t", file, "--capture", str(capture), "--volts", "3", "--wide"]
    assert main(["profile", *arguments]) == 0
    out = capsys.readouterr().out
    assert "by the target's energy model, whose error is" in out and "estimated µJ" in out and "measured µJ" in out
    lines = ("energy", "measured")
    estimate, metered = (float(re.findall(rf"{line}: +(?:about )?([0-9.]+)", out)[0]) for line in lines)
    assert estimate == pytest.approx(measured.microjoules, rel=0.1) and metered == pytest.approx(estimate, rel=0.1)


def test_damaged_marks_leave_an_inference_out(compiled: mote.Compiled, profile: Profile, capture: Path) -> None:
    read = read_capture(capture, volts=3.0)
    level = read.pins["D0"].copy()
    level[np.flatnonzero(np.diff(level))[40] + 1 :] ^= 1
    energy = energy_of(profile, compiled.plan, replace(read, pins={"D0": level}))
    assert 1 <= energy.left_out <= 2 and energy.inferences + energy.left_out == 20


def test_cycles_of_a_board_say_how_long_steps_take(compiled: mote.Compiled, profile: Profile) -> None:
    """Where the model is far off, here by factors up to eight, marks fit the cycles that a board has counted."""
    counted = [layer.cycles * (1 + 7 * (n % 2)) for n, layer in enumerate(profile.layers)]
    schedule = program(compiled.plan).schedule
    seconds = tuple(counted[work] / 80e6 / schedule.count(work) for work in schedule)
    sampled = Waveform(seconds, (0.03,) * len(schedule), schedule, pause=1e-3, count=1).capture(1e6)
    facts = BoardFacts("desk", TARGET, CYCLES, "DWT CYCCNT", None, 80_000_000, None, "there")
    layers = [replace(layer, measured=n) for layer, n in zip(profile.layers, counted, strict=True)]
    on_board = replace(profile, layers=layers, board=BoardMeasurement(facts, 3, sum(counted), 0.0, None))
    assert energy_of(on_board, compiled.plan, sampled).inferences == 1
    with pytest.raises(MoteError, match="not those of this model"):
        energy_of(profile, compiled.plan, sampled)


def test_every_part_says_what_its_energy_is_based_on() -> None:
    """A current and a voltage with the document that states them, or the documents that state none."""
    parts = [target for target in map(targets.load, targets.names()) if target.memories]
    assert len(parts) > 20
    for part in parts:
        assert (part.ua_per_mhz is None) == (part.volts is None), part.name
        assert part.energy_source, part.name
