"""Files of pins: what is written is read, and one for another model or target is refused with a remedy."""

from __future__ import annotations

import re
import tomllib
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mote import compile
from mote.base.errors import MoteError
from mote.compiler.pins_file import PinsFile, read_pins
from tests.compiler.plan.test_plan import MODELS

DIGITS = MODELS / "digits.tflite"
DIGEST = sha256(DIGITS.read_bytes()).hexdigest()
PINS = PinsFile(
    DIGEST,
    "cortex-m4",
    {"2": "pointwise", "6": "fully_connected4_wide"},
    {"optimize": "speed", "flags": "O2-unroll"},
    {"cycles_before": 10, "cycles_after": 9},
    "tools",
    "0.1.0",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    PINS.write(tmp_path / "pins.toml", {"2": "two"})
    return tmp_path / "pins.toml"


def test_what_is_written_is_read(path: Path) -> None:
    assert read_pins(path) == PINS
    assert '"2" = "pointwise"  # two\n"6" = "fully_connected4_wide"\n' in path.read_text()


@given(
    st.dictionaries(st.text(min_size=1), st.text(), max_size=3),
    st.text(),
    st.dictionaries(st.sampled_from(["flags", "optimize"]), st.text()),
)
def test_any_text(kernels: dict[str, str], target: str, settings: dict[str, str]) -> None:
    pins = PinsFile(DIGEST, target, kernels, settings)
    data = tomllib.loads(pins.text({name: name for name in kernels}))
    assert data["kernels"] == kernels and data["target"] == target
    assert {name: data[name] for name in settings} == settings


def test_a_model_with_its_pins(path: Path) -> None:
    compiled = compile(DIGITS, target="cortex-m4", pins=path)
    kernels = {compiled.plan.number(steps[0]): steps[0].kernel.family for _, steps in compiled.plan.works}
    assert (kernels["2"], kernels["6"]) == ("pointwise", "fully_connected4_wide")
    assert (compiled.settings.optimize, compiled.settings.flags) == ("speed", "O2-unroll")
    assert "-funroll-loops" in compiled.project.files["Makefile"]
    other = compile(DIGITS, target="cortex-m4", pins=path, kernels=["2=pointwise4x2_wide"])
    kernels = {other.plan.number(steps[0]): steps[0].kernel.family for _, steps in other.plan.works}
    assert (kernels["2"], kernels["6"]) == ("pointwise4x2_wide", "fully_connected4_wide")


def test_other_models_and_targets(path: Path) -> None:
    with pytest.raises(MoteError, match=r"(?s)those of another model.*mote tune"):
        compile(MODELS / "keywords.tflite", target="cortex-m4", pins=path)
    with pytest.raises(MoteError, match=r"(?s)tuned for 'cortex-m4', not for 'cortex-m7'.*--target cortex-m7"):
        compile(DIGITS, target="cortex-m7", pins=path)
    with pytest.raises(MoteError, match=r"'Os' was given, but .* was tuned with 'O2-unroll'"):
        compile(DIGITS, target="cortex-m4", pins=path, flags="Os")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("format = 1", "format = 2", "is of format 2, not 1"),
        ("format = 1\n", "", "lacks 'format'"),
        (r"model = \S+\n", "", "lacks 'model'"),
        ('"speed"', "3", "'optimize' is not of type str"),
        ("format = 1", "format = 1\nflag = 3", "has no key 'flag'"),
        ('"pointwise"', "4", "a kernel is not a name"),
        ("cycles_after = 9", "cycles_after = 9.5", "is not an integer"),
        ("format = 1", "format", "is no file of pins"),
        ("cycles_after = 9", f"cycles_after = {'9' * 5000}", "has an integer of 5,000 digits"),
        ("cycles_after = 9", f"cycles_after = {'[' * 5000}", "nested too deeply"),
        ('"2" =', '"99" =', "there is no layer '99'"),
        ('"pointwise"', '"winograd"', "has no kernel 'winograd'"),
        ('"O2-unroll"', '"O9"', "'O9' is not one of O2"),
    ],
)
def test_damaged_files(path: Path, old: str, new: str, says: str) -> None:
    path.write_text(re.sub(old, new, path.read_text(), count=1))
    with pytest.raises(MoteError, match=says):
        compile(DIGITS, target="cortex-m4", pins=path)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"\xff\xfe")
    with pytest.raises(MoteError, match="is no file of pins"):
        read_pins(tmp_path / "text")
    (tmp_path / "mine.toml").write_text("mine = 1")
    with pytest.raises(MoteError):
        PINS.write(tmp_path / "mine.toml", {})
