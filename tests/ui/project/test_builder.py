"""`mote build`: what it writes, and that it writes nothing anew that is there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.ui.cli import main
from tests.ui.project.test_project_file import project, written

assert project  # a fixture
DIGITS = 'file = "models/digits.tflite"\n'


def test_a_folder_of_c(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The folder that `mote compile` writes with the same options."""
    written(
        project, f'[models.digits]\n{DIGITS}optimize = "size"\nsingle-file = true\nmetadata = {{version = "2.1.0"}}'
    )
    result = mote.build()
    assert repr(result) == "<BuildResult of 'mote.toml': 1 built, 1 changed>"
    options = ["--optimize", "size", "--single-file", "--name", "digits", "-o", "other"]
    assert main(["compile", "models/digits.tflite", *options]) == 0
    for name in ("digits.c", "digits.h"):
        assert (project / "build/digits" / name).read_bytes() == (project / "other" / name).read_bytes()
    capsys.readouterr()
    assert main(["build", "--json"]) == 0
    (model,) = json.loads(capsys.readouterr().out)["models"]
    assert (model["folder"], model["changed"]) == ("build/digits", False)
    assert model["arena"] == result.models[0].arena > 0


def test_what_is_there_keeps_its_date(project: Path) -> None:
    """Until the model, a setting or a file of the folder changes; edited examples stay."""
    written(project, f"[models.digits]\n{DIGITS}")
    source = project / "build/digits/digits.c"
    assert mote.build("digits").models[0].changed
    date = source.stat().st_mtime_ns
    (source.parent / "example/main.c").write_text("mine")
    (source.parent / "notes.txt").write_text("mine")
    assert not mote.build().models[0].changed
    assert source.stat().st_mtime_ns == date
    source.write_text("changed")
    with pytest.raises(MoteError, match="was changed since Mote generated it"):
        mote.build()
    assert mote.build(force=True).models[0].overwritten == ("digits.c", "example/main.c")
    assert (source.parent / "notes.txt").read_text() == "mine"
    written(project, f'[models.digits]\n{DIGITS}name = "other"')
    assert mote.build().models[0].changed
    assert not source.exists()


def test_images_packages_and_archives(project: Path) -> None:
    written(
        project,
        f"""
        [defaults]
        {DIGITS.replace("file", "# file")}
        [models.image]
        {DIGITS}output = "image"
        model-version = 7
        [models.crate]
        {DIGITS}package = "rust"
        folder = "out/crate.zip"
        """,
    )
    image, crate = mote.build().models
    assert (image.folder, image.code, crate.folder) == ("build/image/image.mote", None, "out/crate.zip")
    assert mote.load_image(image.folder).image.header["version"] == 7
    assert (project / crate.folder).read_bytes().startswith(b"PK")
    assert not mote.build("image").models[0].changed


def test_a_float_model_is_quantized_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For all of its targets; the data is relative to the project."""
    text = '[models.digits]\nfile = "models/digits_float.tflite"\nquantize = "int8"\n'
    written(project, text + 'calibrate = "models/digits_samples.npz"\ntarget = ["host", "cortex-m0plus"]')
    (project / "sub").mkdir()
    monkeypatch.chdir(project / "sub")
    calls = []
    real = mote.quantize.post_training

    def counted(*arguments: object, **options: object) -> object:
        calls.append(arguments)
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("mote.ui.project.builder.post_training", counted)
    result = mote.build()
    assert [m.folder for m in result.models] == ["../build/digits/host", "../build/digits/cortex-m0plus"]
    assert len(calls) == 1
    assert result.models[0].constants < 8000


def test_plugins_are_loaded(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once, before any model is read."""
    written(project, "(__import__('pathlib').Path('ran')).open('a').write('x')", "plug.py")
    written(project, f'[defaults]\nplugin = "plug.py"\n[models.a]\n{DIGITS}[models.b]\n{DIGITS}')
    mote.build("a")
    assert (project / "ran").read_text() == "x"


def test_errors_of_a_model_are_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(project, '[models.a]\nfile = "absent.tflite"')
    assert main(["build"]) == 1
    assert "absent.tflite: cannot read the file" in capsys.readouterr().err
    np.save(project / "zeros.npy", np.zeros(3))
    written(project, '[models.a]\nfile = "zeros.npy"')
    assert main(["build"]) == 1
