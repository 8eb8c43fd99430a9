"""Commands in the docs: each is understood, names files that exist, and ends well.

They run where a reader would run them, in the root of a clone, on the bundled models; what a page calls its
reader's own (`net.keras`, `words.zip`) is made here.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import wave
import zipfile
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

import mlperf_tiny
from mote.ui.cli import COMMANDS, main, options_of, parser
from tests.frontends.keras.keras_files import dense, dense_weights, given, keras_file, sequential
from tests.helpers.support import emulated, needs_litert, soaked
from tests.ui.api.test_register import alone, energies

ROOT = Path(__file__).parents[1]
COMMAND = re.compile(r"^(?:\$ )?mote (?P<options>.*?) *(?:#.*)?$")
NOT_RUN = {
    "ota": "needs a device",
    "flash": "needs a tool, and a part",
    "desk": "needs a board",
    "run.csv": "needs a measurement of the reader's",
    "board.toml": "needs what a board has measured",
    "--scheduler": "needs a cluster",
    "lookup-tables": "needs the package of examples/generator: tests/compiler/offload/test_check_generator.py has it",
    "my_package:MyGenerator": "needs a package of the reader's",
    "--elf": "needs a firmware of the reader's",
    "vww_96_int8.tflite": "needs the published model, which is not bundled",
    "model_vela.tflite": "needs a model that Vela has compiled",
    **({} if os.environ.get("CMSIS_NN_PATH") else {"cmsis-nn": "needs the sources of CMSIS-NN"}),
    **({} if os.environ.get("ESP_NN_PATH") else {"esp-nn": "needs the sources of ESP-NN"}),
}
ALL_NOT_RUN = ("compile/shrinking.md", "compile/backends.md", "measure/calibrating.md", "measure/energy.md")
"""Pages all of whose commands may need what is not here."""
QUICK = ("models/custom-operators.md", "improve/data.md", "improve/quantization.md")


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands(page: Path) -> list[str]:
    """Commands in the fenced blocks of a page."""
    blocks = re.findall(r"^```\w*\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [match["options"] for line in lines if (match := COMMAND.match(line))]


def path_of(page: Path) -> str:
    """The name of a page: its path in docs/, or from the root."""
    return page.relative_to(ROOT / "docs" if page.is_relative_to(ROOT / "docs") else ROOT).as_posix()


assert alone  # a fixture: what plugins register is forgotten after each test
WITH_COMMANDS = {path_of(page): commands(page) for page in pages() if commands(page)}
TUTORIALS = {page for page in WITH_COMMANDS if page.startswith("start/from-")}
"""tests/test_tutorials.py runs them, with the Python that comes before their commands."""


@pytest.mark.parametrize(("page", "command"), [(p, c) for p, cs in WITH_COMMANDS.items() for c in cs])
def test_commands_are_understood(page: str, command: str) -> None:
    """Options exist, and none is missing."""
    words = shlex.split(command)
    parser(words[0]).parse_args(words)


def unknown_options(text: str) -> list[str]:
    """Commands in a line of text (`mote plan --layer N`) that are none, or that have no such option."""
    wrong = []
    for span in re.findall(r"`mote ([a-z][^`]+)`", text):
        command, *words = span.split()
        names = [word.partition("=")[0].strip("[](),.") for word in words if re.match(r"[\[(]*-", word)]
        options = known_options(command) if command in COMMANDS else set()
        if not options or not {name for name in names if name != "-"} <= options:
            wrong.append(span)
    return wrong


@cache
def known_options(command: str) -> set[str]:
    return {name for action in options_of(command)._actions for name in action.option_strings}


def test_commands_in_sentences_are_understood() -> None:
    """In the docs, and in the remedies of errors."""
    assert unknown_options("`mote plan --kernels` and `mote plan --layer=2 -t x [--json]`") == ["plan --kernels"]
    fences = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    texts = {page: fences.sub("", page.read_text(encoding="utf-8")) for page in (*pages(), ROOT / "SECURITY.md")}
    joined = re.compile(r'"\s*f?"')
    texts |= {path: joined.sub("", path.read_text(encoding="utf-8")) for path in (ROOT / "src").rglob("*.py")}
    assert {str(path): wrong for path, text in texts.items() if (wrong := unknown_options(text))} == {}


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("page", soaked(sorted(WITH_COMMANDS.keys() - TUTORIALS), QUICK))
def test_commands_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command of a page ends with status 0, one after another, as a reader would call them."""
    emulated("cortex-m4")
    for folder in ("models", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    write_own_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    ran = [command for command in WITH_COMMANDS[page] if not any(word in NOT_RUN for word in shlex.split(command))]
    for command in ran:
        assert main(shlex.split(command)) == 0, f"mote {command}\n{capsys.readouterr().err}"
    assert ran or page in ALL_NOT_RUN


def test_quick_pages_are_pages() -> None:
    assert set(QUICK) <= set(WITH_COMMANDS)


def write_own_files(folder: Path) -> None:
    """What pages call their reader's own files."""
    rng = np.random.default_rng(0)
    (folder / "model.tflite").write_bytes(energies())
    (folder / "model.onnx").symlink_to(ROOT / "models" / "digits.onnx")
    page = (ROOT / "docs" / "develop" / "external-generators.md").read_text(encoding="utf-8")
    (folder / "two_tables.py").write_text(page.split("```python\n")[1].split("```")[0], encoding="utf-8")
    (folder / "build").mkdir()
    (folder / "build" / "sww.tflite").write_bytes(mlperf_tiny.build("sww"))
    for word in ("hey", "stop"):
        (folder / f"{word}.tflite").write_bytes(mlperf_tiny.build("sww"))
    (folder / "mote.toml").write_text('[models.digits]\nfile = "models/digits.tflite"\n')
    net = sequential(given("x", 8), dense("dense", 3))
    (folder / "net.keras").write_bytes(keras_file(net, dense_weights("layers/dense", 8, 3)))
    with zipfile.ZipFile(folder / "pictures.zip", "w") as archive:
        for name, image in pictures(rng):
            archive.writestr(f"test/{name}.png", image)
    with zipfile.ZipFile(folder / "words.zip", "w") as archive:
        for word in ("rise", "fall"):
            archive.writestr(f"{word}/0.wav", sound(rng.normal(size=16000) / 8))
    (folder / "weights.key").write_bytes(bytes(range(32)))
    (folder / "labels.txt").write_text("silence\nrise\nfall\npeak\ndip\nlevel\npart\nmeet\n")
    (folder / "yes.wav").write_bytes(sound(rng.normal(size=16000) / 8))
    (folder / "camera.raw").write_bytes(rng.bytes(192 * 96))
    (folder / "person.tflite").write_bytes(mlperf_tiny.build("vww"))
    (folder / "ten_seconds.wav").write_bytes(sound(rng.normal(size=32000) / 8))
    (folder / "ten_seconds.json").write_text(json.dumps([[0.5, 1.0]]))
    (folder / "mine.py").write_text(
        "def features(samples):\n    return samples[: len(samples) // 10 * 10].reshape(-1, 10)[:100]\n"
    )


def pictures(rng: np.random.Generator) -> Iterator[tuple[str, bytes]]:
    """A gray picture of noise for each digit, as PNG."""
    pillow = pytest.importorskip("PIL.Image")
    for digit in range(10):
        file = BytesIO()
        pillow.fromarray(rng.integers(0, 256, (16, 16), np.uint8)).save(file, "PNG")
        yield f"{digit}/0", file.getvalue()


def sound(samples: np.ndarray) -> bytes:
    """A WAV file of 16 kHz and 16 bits."""
    file = BytesIO()
    with wave.open(file, "wb") as wav:
        wav.setnchannels(1)
        wav.setsampwidth(2)
        wav.setframerate(16000)
        wav.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
    return file.getvalue()
