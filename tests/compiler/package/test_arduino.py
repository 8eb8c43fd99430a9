"""Arduino libraries: the format, Arduino's own builder with its AVR core, sketches in simavr."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.compiler.line import compile
from mote.compiler.package.description import Package, metadata
from mote.compiler.package.libraries import arduino
from mote.deploy.runtime import runtime
from mote.hardware.targets import load
from tests.compiler.package.ecosystems import ARDUINO_API, DIGITS, MODELS, ROOT, printed
from tests.helpers.support import needs

PAGE = ROOT / "docs" / "deploy" / "packages" / "arduino.md"
CORE = Path("/usr/share/arduino/hardware/arduino/avr")
REQUIRED = {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"}
"""Fields that Arduino's library specification requires."""
SECONDS = 120


def documented() -> tuple[list[str], str]:
    """The commands of the page that build the sketch, and the one that simulates it."""
    (block,) = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    *build, simulate = block.splitlines()
    return build, simulate


def built(folder: Path, commands: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs commands as a reader of the page does, with this `mote`."""
    needs("arduino-builder", "avr-gcc", "simavr")
    if not CORE.is_dir():
        pytest.skip("not installed: arduino-core-avr")
    mote = folder / "bin" / "mote"
    mote.parent.mkdir()
    mote.write_text(f'#!/bin/sh\nexec {sys.executable} -m mote "$@"\n')
    mote.chmod(0o755)
    (folder / "models").symlink_to(MODELS)
    env = os.environ | {"PATH": f"{mote.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    script = "\n".join(["set -e", *commands])
    return subprocess.run(["sh", "-c", script], cwd=folder, env=env, capture_output=True, text=True)


def simulated(command: str, folder: Path, count: int) -> list[str]:
    """The first lines on the serial port of a simulated part, which never halts."""
    lines = []
    with subprocess.Popen(
        ["timeout", str(SECONDS), *command.split()],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as part:
        assert part.stdout is not None
        for line in part.stdout:
            # simavr colours lines, and shows a line feed as a dot.
            text = re.sub(r"\x1b\[\d+m", "", line).removesuffix("\n")
            if text.endswith("."):
                lines.append(text.removesuffix("."))
            if len(lines) == count:
                part.terminate()
                break
    return lines


@pytest.mark.slow
def test_the_sketch_prints_the_classes_on_an_atmega328p(tmp_path: Path) -> None:
    """By the commands of the docs."""
    build, simulate = documented()
    done = built(tmp_path, build)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = compile(DIGITS).package.example.lines
    assert simulated(simulate, tmp_path, len(lines)) == list(lines)


@pytest.mark.slow
def test_what_an_atmega328p_cannot_hold_is_refused(tmp_path: Path) -> None:
    """A model that needs more RAM than it has, and the runtime, which needs pointers of 32 bits."""
    build, _ = documented()
    (tmp_path / "large").mkdir()
    done = built(tmp_path / "large", [command.replace("digits", "keywords") for command in build])
    assert done.returncode != 0 and "bytes of RAM" in done.stdout + done.stderr
    (tmp_path / "runtime").mkdir()
    image = [command.replace("digits", "mote_runtime") for command in build]
    image[0] = "mote runtime --kernels models/digits.tflite --package arduino -o libraries/mote_runtime"
    done = built(tmp_path / "runtime", image)
    assert done.returncode != 0 and "needs pointers of at least 32 bits" in done.stdout + done.stderr


def properties(package: Package) -> dict[str, str]:
    text = arduino.files(package)["library.properties"]
    assert isinstance(text, str)
    return dict(line.split("=", 1) for line in text.splitlines())


def test_the_metadata_follow_the_specification() -> None:
    given = metadata(["author=Ada", "email=ada@example.org", "url=https://example.org/digits", "version=2.0.1"])
    package = compile(DIGITS, single_file=True).package.described(given)
    fields = properties(package)
    assert fields.keys() >= REQUIRED and all(fields.values())
    assert fields["maintainer"] == "Ada <ada@example.org>" and fields["version"] == "2.0.1"
    assert re.fullmatch(r"[a-zA-Z][\w .-]{0,62}", fields["name"])
    files = arduino.files(package)
    assert all(f"src/{header}" in files for header in fields["includes"].split(","))
    assert "digits_run\tKEYWORD2" in str(files["keywords.txt"]) and "DIGITS_ARENA_BYTES\tLITERAL1" in str(
        files["keywords.txt"]
    )


@pytest.mark.parametrize(
    ("target", "architectures"), [("host", ["*"]), ("cortex-m4", ["*"]), ("samd51", ["samd"]), ("esp32c3", ["esp32"])]
)
def test_architectures_are_those_of_the_target(target: str, architectures: list[str]) -> None:
    assert list(arduino.architectures(load(target))) == architectures


@pytest.mark.slow
def test_the_sketch_of_a_runtime_prints_the_classes(tmp_path: Path) -> None:
    """Built without flags, as Arduino does: the sources ask for -fwrapv themselves."""
    needs("cc", "g++")
    made = runtime([DIGITS])
    made.write(tmp_path / "library", ["arduino"])
    sources = sorted((tmp_path / "library" / "src").glob("*.c"))
    assert {source.name for source in sources} == set(made.package.sources)
    assert all('#pragma GCC optimize("wrapv")' in source.read_text() for source in sources)
    sketch = tmp_path / "library" / "examples" / "mote_runtime" / "mote_runtime.ino"
    main = [f"-I{ARDUINO_API}", "-x", "c++"]
    assert printed(sources, sketch, tmp_path, flags=(), main=main) == list(made.package.example.lines)


def test_files_outside_of_a_library_are_refused() -> None:
    package = replace(compile(DIGITS, single_file=True).package, external=("/opt/driver.c",))
    with pytest.raises(MoteError, match=r"needs /opt/driver\.c"):
        arduino.files(package)
