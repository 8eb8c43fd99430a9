"""Project files: which keys there are, what their values become, and how wrong ones are refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import project_page
from mote.base.errors import MoteError
from mote.ui.project.limits import MEASURES
from mote.ui.project.project_file import KEYS, OPTIONS, OWN_KEYS, ModelEntry, ProjectFile, find_project
from mote.ui.project.tables import Table

ROOT = Path(__file__).parents[3]
NO_KEYS = {
    "help": "of the command",
    "data": "another name of calibrate",
    "json": "of the command",
    "wide": "of the command",
    "force": "an option of `mote build`",
    "depfile": "for build systems that call `mote compile`",
    "shared-arena": "several models in one C project",
    "run-together": "several models in one C project",
}
"""Options of `mote compile` that are no keys, and why."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "models").symlink_to(ROOT / "models")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path, text: str, name: str = "mote.toml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def entry(folder: Path, text: str) -> ModelEntry:
    written(folder, f'[models.digits]\nfile = "models/digits.tflite"\n{text}')
    (only,) = find_project().entries()
    return only


def refused(folder: Path, text: str) -> MoteError:
    written(folder, text)
    with pytest.raises(MoteError) as error:
        find_project().entries()
    return error.value


def test_every_option_of_compile_is_a_key() -> None:
    assert set(project_page.compile_options()) - set(NO_KEYS) == {*KEYS} - {
        *("file", "folder", "check", "model-version", "product", "strip", "runtime")
    }


def test_the_page_has_every_key() -> None:
    text = project_page.PAGE.path.read_text(encoding="utf-8")
    assert project_page.PAGE.with_table(project_page.tables()) == text, "benchmarks/project_page.py --write"


def test_values_are_those_of_compile(project: Path) -> None:
    """Every form of value, and paths relative to the file."""
    labels = written(project, "a\nb\n", "names.txt")
    options = {
        **{"optimize": '"size"', "ram": '"24K"', "flash": "30000", "kernel": '["3=conv2d"]', "no-shrink": "true"},
        **{"shape": "{ x = [1, 8] }", "set": '["sr=16"]', "labels": '"names.txt"', "place-code": '"flash"'},
        **{"single-file": "true", "outputs": '"y"', "recompute": "2.5"},
    }
    settings = entry(project, "\n".join(f"{key} = {value}" for key, value in options.items())).recipe.settings
    assert (settings.optimize, settings.ram, settings.flash, settings.shrink) == ("size", 24576, 30000, False)
    assert (settings.kernels, settings.shapes, settings.constants) == ({"3": "conv2d"}, {"x": (1, 8)}, {"sr": 16})
    assert (settings.labels, settings.single_file, settings.recompute) == (("a", "b"), True, 2.5)
    assert settings.name == "digits" and settings.outputs == ("y",)
    labels.unlink()
    assert "names.txt" in refused(project, (project / "mote.toml").read_text()).where


def test_defaults_and_targets(project: Path) -> None:
    """A model's keys have precedence, also inside of `check`; each target is an entry."""
    written(
        project,
        """
        [defaults]
        target = ["cortex-m4", "cortex-m0plus"]
        optimize = "speed"
        check = { ram = "8K", stack = 512 }
        [models.a]
        file = "a.tflite"
        [models."b-2"]
        file = "/b.tflite"
        target = "host"
        optimize = "size"
        folder = "out/{target}.zip"
        check.ram = "9K"
        """,
    )
    a4, a0, b = find_project().entries()
    assert [(e.name, e.target, e.recipe.settings.optimize) for e in (a4, a0, b)] == [
        ("a", "cortex-m4", "speed"),
        ("a", "cortex-m0plus", "speed"),
        ("b-2", "host", "size"),
    ]
    assert [e.recipe.folder for e in (a4, a0, b)] == ["build/a/cortex-m4", "build/a/cortex-m0plus", "out/host.zip"]
    assert [e.checks.limits for e in (a4, b)] == [{"ram": 8192, "stack": 512}, {"ram": 9216, "stack": 512}]
    assert (a4.file, b.file, b.recipe.settings.name) == ("a.tflite", "/b.tflite", "b_2")
    assert [e.name for e in find_project().entries(["b-2"])] == ["b-2"]


def test_the_file_is_looked_for_upward(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`pyproject.toml` counts where it has `[tool.mote]`; paths stay relative to the file."""
    written(project, '[project]\nname = "x"\n[tool.mote.models.a]\nfile = "a.tflite"\n', "pyproject.toml")
    written(project, "[project]\n", "sub/pyproject.toml")
    (project / "sub" / "deep").mkdir()
    monkeypatch.chdir(project / "sub" / "deep")
    assert [e.file for e in find_project().entries()] == ["../../a.tflite"]
    written(project, '[models.b]\nfile = "b.tflite"\n', "sub/mote.toml")
    assert [e.file for e in find_project().entries()] == ["../b.tflite"]
    for named in (project / "sub" / "mote.toml", project / "sub"):
        assert [e.name for e in find_project(named).entries()] == ["b"]
    monkeypatch.chdir(project)
    (project / "pyproject.toml").unlink()
    with pytest.raises(MoteError, match=r"there is no mote.toml here"):
        find_project()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owner here")
def test_a_file_of_somebody_else_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may name Python files to run. Where all is somebody else's, as in a container of continuous integration, it
    is the project that was meant."""
    path = written(project, '[models.a]\nfile = "a.tflite"\n')
    (project / "sub").mkdir()
    monkeypatch.chdir(project / "sub")
    stat = Path.stat

    def owned(mine: Path, **options: Any) -> os.stat_result:
        real = stat(mine, **options)
        return os.stat_result((*real[:4], owners.get(mine, real.st_uid), *real[5:10]))

    monkeypatch.setattr(Path, "stat", owned)
    owners = {path: os.getuid() + 7}
    with pytest.raises(MoteError, match="belongs to another user"):
        find_project()
    assert find_project(path).entries()
    owners[project / "sub"] = owners[path]
    assert find_project().entries()


WRONG = [
    ("targt", '[models.a]\nfile = "a"\ntargt = "host"', "did you mean: target"),
    ("place_code", '[models.a]\nfile = "a"\nplace_code = "ram"', "did you mean: place-code"),
    ("check key", '[models.a]\nfile = "a"\ncheck.rams = 3', "did you mean: ram"),
    ("top", '[model.a]\nfile = "a"', "did you mean: models"),
    ("file in defaults", '[defaults]\nfile = "a"\n[models.a]\nfile="b"', "no key 'file'"),
    ("no file", '[models.a]\ntarget = "host"', "names no model"),
    ("empty", "[defaults]", "has no models"),
    ("not TOML", "models = [", "not valid TOML"),
    ("not a table", "[models]\na = 3", "is not a table"),
    ("checks", '[models.a]\nfile = "a"\ncheck = 3', "is not a table"),
    ("target", '[models.a]\nfile = "a"\ntarget = "cortex-m5"', "unknown target 'cortex-m5'"),
    ("optimize", '[models.a]\nfile = "a"\noptimize = "fast"', "'fast' is not one of"),
    ("type", '[models.a]\nfile = "a"\ncores = "2"', "is not an integer"),
    ("size", '[models.a]\nfile = "a"\nram = "24Q"', "not a size"),
    ("output", '[models.a]\nfile = "a"\noutput = "build/a"', "where files are written is `folder`"),
    ("image and C", '[models.a]\nfile = "a"\noutput = ["image", "elf"]', "an image or C, not both"),
    ("C with a version", '[models.a]\nfile = "a"\nproduct = 3', "is for images"),
    ("package", '[models.a]\nfile = "a"\npackage = "zefyr"', "did you mean: zephyr"),
    ("metadata", '[models.a]\nfile = "a"\nmetadata = {version = 2}', "is not three numbers"),
    ("adapter", '[models.a]\nfile = "a"\nadapter = "rtos"', "'rtos' is none of them"),
    ("source", '[models.a]\nfile = "a"\nsource = ["dma", "b.wav"]', "cannot read the file"),
    ("quantize", '[models.a]\nfile = "a"\nquantize = "int9"', "'int9' is none of them"),
    ("calibrate", '[models.a]\nfile = "a"\ncalibrate = "x.npz"', "quantized first"),
    ("data", '[models.a]\nfile = "a"\ncheck.accuracy = 0.9', "no data to measure it on"),
    ("against", '[models.a]\nfile = "a"\ncheck = { drop = 0.1, data = "x" }', "no model to compare with"),
    ("data table", '[models.a]\nfile = "a"\ncheck.data = { path = "x" }', "there is no key 'path'"),
    ("no data", '[models.a]\nfile = "a"\ncheck.data = { labels = "x" }', "names no data"),
    ("negative", '[models.a]\nfile = "a"\ncheck.cycles = -1', "is not a whole number"),
    ("latency", '[models.a]\nfile = "a"\ncheck.latency = "3 days"', "is not a time"),
    ("energy", '[models.a]\nfile = "a"\ncheck.energy = "3 kJ"', "is not an energy"),
    ("accuracy", '[models.a]\nfile = "a"\ncheck = { accuracy = "high", data = "x" }', "is not a value of a metric"),
    ("folders", '[defaults]\nfolder = "b"\n[models.a]\nfile = "a"\n[models.c]\nfile = "a"', "the same folder"),
]


@pytest.mark.parametrize(("text", "said"), [wrong[1:] for wrong in WRONG], ids=[wrong[0] for wrong in WRONG])
def test_mistakes_are_named(text: str, said: str, project: Path) -> None:
    error = refused(project, text)
    assert said in str(error)
    assert "mote.toml" in error.where


def test_an_unknown_model(project: Path) -> None:
    written(project, '[models.digits]\nfile = "a"\n')
    with pytest.raises(MoteError, match="did you mean: digits"):
        find_project().entries(["digit"])


def test_limits_have_units(project: Path) -> None:
    checks = entry(
        project,
        'check = { ram = "1K", latency = "20ms", energy = "12uJ", accuracy = "97.5%", drop = 0.01, data = "t.npz",'
        ' against = "f.tflite", verify = 3, emulator = "qemu" }',
    ).checks
    assert checks.limits == pytest.approx(
        {"ram": 1024, "latency": 0.02, "energy": 12e-6, "accuracy": 0.975, "drop": 0.01}
    )
    assert (checks.verify, checks.against, checks.tools["emulator"]) == (3, "f.tflite", "qemu")
    assert entry(project, "check.verify = false").checks.verify == 0
    assert entry(project, "").checks.verify is None


def test_data_is_relative_to_the_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the Python file of a step of preprocessing, and events of a recording."""
    text = """
    quantize = "int8"
    calibrate = { data = "d", preprocess = "scale=1/255,mine.py:f", inputs = ["a", "b"], labels = "events.json" }
    check = { drop = "1%", data = "t.npz" }
    """
    entry(project, text)
    (project / "sub").mkdir()
    monkeypatch.chdir(project / "sub")
    (only,) = find_project().entries()
    assert only.calibrate is not None and only.checks.data is not None
    assert (only.calibrate.path, only.calibrate.labels, only.calibrate.inputs) == ("../d", "../events.json", "a,b")
    assert only.calibrate.preprocess == "scale=1/255,../mine.py:f"
    assert (only.checks.data.path, only.checks.against) == ("../t.npz", "../models/digits.tflite")


values = st.recursive(
    st.booleans() | st.integers(-5, 1 << 40) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
keys = st.sampled_from([key for key in KEYS if key not in ("check", "file")])


@given(st.dictionaries(keys, values, max_size=2), st.sampled_from(sorted(MEASURES)), values)
def test_any_values_are_refused_or_understood(chosen: dict[str, Any], key: str, limit: Any) -> None:
    """Whatever TOML could hold, nothing but an error with a reason leaves the reader."""
    models = {"a": {"file": "a.tflite", **chosen, "check": {key: limit, "data": "d", "against": "b"}}}
    try:
        entries = ProjectFile(Path("mote.toml"), Path(), {}, models).entries()
    except MoteError as error:
        assert error.where and error.reason
    else:
        assert all(isinstance(only, ModelEntry) for only in entries)


def test_tables_name_the_key() -> None:
    with pytest.raises(MoteError) as error:
        Table({"a": 3}, "mote.toml: [models.x]", Path()).text("a")
    assert error.value.where == "mote.toml: [models.x]: a"
    assert set(OWN_KEYS).isdisjoint(OPTIONS)
