"""PlatformIO libraries: the manifest by PlatformIO's own schema, the example as its builds do it."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path

import pytest

from mote.compiler.line import compile
from mote.compiler.package.description import metadata
from mote.compiler.package.libraries import platformio
from mote.deploy.runtime import runtime
from mote.hardware.targets import load, names
from tests.compiler.package.ecosystems import ARDUINO_API, DIGITS, printed, python_tool, run
from tests.helpers.support import needs


def test_platformio_packs_the_library(tmp_path: Path) -> None:
    """Without its licence: PlatformIO downloads the list of licences to check it."""
    pio = python_tool("pio")
    given = metadata(["author=Ada", "email=ada@example.org", "url=https://example.org/digits", "version=2.0.1"])
    compiled = compile(DIGITS, single_file=True, target="rp2040")
    for path, text in platformio.files(compiled.package.described(given)).items():
        (tmp_path / "digits" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "digits" / path).write_text(str(text))
    manifest = tmp_path / "digits" / "library.json"
    fields = json.loads(manifest.read_text())
    assert fields.pop("license") == "Apache-2.0" and fields["platforms"] == ["raspberrypi", "native"]
    manifest.write_text(json.dumps(fields))
    env = os.environ | {"PLATFORMIO_CORE_DIR": str(tmp_path / "core"), "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no"}
    run(pio, "pkg", "pack", tmp_path / "digits", "-o", tmp_path / "digits.tar.gz", cwd=tmp_path, env=env)
    with tarfile.open(tmp_path / "digits.tar.gz") as archive:
        packed = set(archive.getnames())
    listed = {f"examples/digits/{file}" for example in fields["examples"] for file in example["files"]}
    assert packed >= {"library.json", "src/digits.c", "src/digits.h", *listed}
    assert all((tmp_path / "digits" / "src" / header).is_file() for header in fields["headers"])


@pytest.mark.parametrize("framework", ["native", pytest.param("arduino", marks=pytest.mark.slow)])
def test_the_example_prints_the_classes(framework: str, tmp_path: Path) -> None:
    needs("cc", "g++")
    compiled = compile(DIGITS, single_file=True)
    compiled.write(tmp_path / "library", ["platformio"])
    main = [f"-I{ARDUINO_API}", "-DARDUINO=10819"] if framework == "arduino" else []
    assert _lines(tmp_path, "digits", main) == list(compiled.package.example.lines)


@pytest.mark.slow
def test_the_example_of_a_runtime_prints_the_classes(tmp_path: Path) -> None:
    needs("cc", "g++")
    made = runtime("minimal")
    made.write(tmp_path / "library", ["platformio"])
    assert "-fwrapv" in json.loads((tmp_path / "library" / "library.json").read_text())["build"]["flags"]
    assert _lines(tmp_path, "mote_runtime", []) == list(made.package.example.lines)


@pytest.mark.slow
def test_platformio_runs_the_example(tmp_path: Path) -> None:
    """With the user's own PlatformIO, whose platform `native` must be there; the smaller twin is built without it."""
    pio = python_tool("pio")
    core = Path(os.environ.get("PLATFORMIO_CORE_DIR") or Path.home() / ".platformio")
    if not (core / "platforms" / "native").is_dir():
        pytest.skip("PlatformIO's platform native is not installed: pio pkg install -g -p native")
    compiled = compile(DIGITS, single_file=True)
    compiled.write(tmp_path / "library", ["platformio"])
    project = tmp_path / "library" / "examples" / "digits"
    printed = run(pio, "run", "-d", project, "-e", "native", "-t", "exec", cwd=tmp_path).splitlines()
    assert [line for line in printed if line.startswith("digits ")] == list(compiled.package.example.lines)


def _lines(folder: Path, name: str, main: list[str]) -> list[str]:
    """The lines of the example, built with the flags of the manifest."""
    library = folder / "library"
    build = json.loads((library / "library.json").read_text())["build"]
    sources = sorted((library / build["srcDir"]).glob("*.c"))
    program = library / "examples" / name / "src" / "main.cpp"
    return printed(sources, program, folder, flags=build["flags"], main=main)


def test_boards_are_those_of_targets() -> None:
    assert set(platformio.BOARDS) <= set(names())
    assert platformio.platforms(load("host")) == platformio.platforms(load("cortex-m4")) == ["*"]
