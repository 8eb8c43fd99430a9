"""The energy model that is fitted to measured layers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mote.hardware.targets as targets
from mote.base.errors import MoteError
from mote.bench.measure.energy.fit import fit_energy
from mote.bench.measure.energy.layers import LayerEnergy, MeasuredEnergy
from mote.bench.measure.profiler.result import LayerProfile, Mix, Profile, Slow
from mote.bench.measure.profiler.traced import Cost
from mote.hardware.targets.energy import EnergyModel

TRUTH = EnergyModel(multiply_pj=180.0, memory_pj=260.0, other_pj=140.0, wait_pj=60.0, flash_byte_pj=35.0)


def profile(
    truth: EnergyModel, seed: int, count: int = 24, noise: float = 0.0, clock: float = 120e6, idle: float | None = None
) -> Profile:
    """A profile of layers of random mixes, with the energy that a model gives them."""
    random = np.random.default_rng(seed)
    layers, measured = [], []
    for n in range(count):
        multiply, memory, other, code, constants, fetched = map(int, random.integers(1, 200_000, 6))
        cycles = multiply + memory + other + code + constants
        waits, mix = Slow(code, constants, 0, fetched), Mix(multiply, memory, other)
        layers.append(LayerProfile(str(n), "", "CONV_2D", "", 0, 0, cycles, 0.0, None, waits, mix=mix))
        seconds = cycles / clock
        energy = truth.microjoules(Cost(0, cycles, waits, mix).work, seconds) * (1 + noise * random.standard_normal())
        taken = energy - 1e3 * (idle or 0.0) * seconds
        measured.append(LayerEnergy((str(n),), taken, None, seconds))
    whole = MeasuredEnergy("x.csv", "csv", 1, 1.0, None, 1.0, 1e5, idle, idle is not None, tuple(measured))
    return Profile(
        *(f"model{seed}.tflite", "stm32l4r5", "", "", "", "", False, "", 1, 0, 0, 0, None, None, None, None, None, ""),
        *("", Slow(), True, layers, []),
        measured=whole,
    )


def test_the_energy_of_each_kind_of_work_is_recovered() -> None:
    fit = fit_energy([profile(TRUTH, 0), profile(TRUTH, 1)])
    for kind in ("multiply", "memory", "other", "wait", "flash_byte"):
        assert getattr(fit.model, f"{kind}_pj") == pytest.approx(getattr(TRUTH, f"{kind}_pj"), rel=1e-3)
    assert fit.model.static_mw == 0 and fit.error < 1e-3 and len(fit.points) == 48 and fit.captures == 2


def test_noise_is_stated_as_an_error() -> None:
    fit = fit_energy([profile(TRUTH, seed, noise=0.05) for seed in range(3)])
    assert 0.02 < fit.error < 0.08 and fit.worst < 0.3
    assert fit.model.error == pytest.approx(fit.error, rel=1e-3)
    assert fit.model.multiply_pj == pytest.approx(180.0, rel=0.15)


def test_static_power_is_told_apart_where_clocks_differ() -> None:
    truth = replace(TRUTH, static_mw=12.0)
    fit = fit_energy([profile(truth, 0), profile(truth, 1, clock=16e6)])
    assert fit.model.static_mw == pytest.approx(12.0, rel=0.01) and fit.error < 0.01
    assert fit_energy([profile(truth, 0)]).model.static_mw == 0


def test_idle_power_that_was_subtracted_is_static() -> None:
    truth = replace(TRUTH, static_mw=7.0)
    fit = fit_energy([profile(truth, 0, idle=7.0)])
    assert fit.model.static_mw == 7.0 and fit.model.memory_pj == pytest.approx(260.0, rel=1e-3)
    with pytest.raises(MoteError, match="some captures and not from others"):
        fit_energy([profile(truth, 0, idle=7.0), profile(truth, 1)])


def test_few_layers_give_a_coarse_model() -> None:
    fit = fit_energy([profile(TRUTH, 0, count=3, noise=0.02)])
    assert fit.model.multiply_pj == fit.model.memory_pj == fit.model.other_pj > 0
    with pytest.raises(MoteError, match="too few"):
        fit_energy([profile(TRUTH, 0, count=1)])


def test_the_written_target_is_read_back(tmp_path: Path) -> None:
    fit = fit_energy([profile(TRUTH, 0, noise=0.03)])
    file = tmp_path / "mine.toml"
    fit.write(file)
    target = targets.load(str(file))
    assert target.energy == fit.model and target.clock_hz == 120_000_000 and "mean error" in file.read_text()
    own = fit_energy([profile(TRUTH, 0)], str(file)).write(tmp_path / "next.toml")
    assert targets.load(own).memories == target.memories
    (tmp_path / "other.toml").write_text("extends = 'cortex-m4'\n")
    with pytest.raises(MoteError, match=r"other\.toml"):
        fit.write(tmp_path / "other.toml")
    with pytest.raises(MoteError, match=r"must end in \.toml"):
        fit.write(tmp_path / "mine.json")


def test_profiles_from_files_are_checked(tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    told = profile(TRUTH, 0).json()
    file.write_text(json.dumps(told))
    assert fit_energy([file]).model == fit_energy([profile(TRUTH, 0)]).model
    for wrong, said in (
        ("{", "is not JSON"),
        ("[]", "is not a profile"),
        (json.dumps(told | {"measured": None}), "no measured energy"),
        (json.dumps(told | {"layers": []}), "is not a profile"),
        (json.dumps(told | {"layers": [{"number": "0", "waits": {}, "mix": 3}]}), "is not a profile"),
    ):
        file.write_text(wrong)
        with pytest.raises(MoteError, match=said):
            fit_energy([file])
    with pytest.raises(MoteError, match="2 targets"):
        fit_energy([profile(TRUTH, 0), replace(profile(TRUTH, 1), target="rp2040")])
    with pytest.raises(MoteError, match="no profiles"):
        fit_energy([])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("energy = 3", r"must be a table"),
        ("[energy]\nmultiply_pj = -1", "number from 0"),
        ("[energy]\nmultiply_pj = inf", "number from 0"),
        ("[energy]\nmultiply = 1", "did you mean: multiply_pj"),
        ("[energy]\nsource = 3", "string that can be printed"),
        ("[energy]\nerror = 0.1", "nothing takes energy"),
    ],
)
def test_a_wrong_table_of_energies_is_refused(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "part.toml"
    file.write_text(f"extends = 'stm32l4r5'\n{text}\n")
    with pytest.raises(MoteError, match=told):
        targets.load(str(file))
