"""Stages and sessions: results are known by contents, and the disk never has the last word."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mote
from mote import frontends
from mote.base import cache
from mote.base.cache import CacheFolder
from mote.base.errors import MoteError
from mote.compiler import line, stages
from mote.compiler.line import compile
from mote.compiler.plan.plan import Plan
from mote.compiler.stages import KEPT, CompilerSession, CompilerStage, contents, using
from mote.ui.cli import main
from tests.helpers.support import needs_litert

MODELS = Path(__file__).parents[2] / "models"
DIGITS = MODELS / "digits.tflite"
CORE = "cortex-m4"


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The graphs that the planner was called for, with a cache folder of the test's own."""
    called: list[str] = []
    plan: Callable[..., Plan] = line.plan  # type: ignore[attr-defined]

    def counted(graph: Any, *arguments: Any) -> Plan:
        called.append(graph.name)
        return plan(graph, *arguments)

    monkeypatch.setattr(line, "plan", counted)
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    return called


def fresh(model: Any = DIGITS, **options: Any) -> dict[str, str]:
    """The C of a model, as another process would compile it."""
    with using(CompilerSession(disk=True)):
        return compile(model, **{"target": CORE, **options}).project.files


def kept(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / cache.PLANS).glob("*"))


def test_a_plan_is_made_once_for_all_processes(planned: list[str], tmp_path: Path) -> None:
    first = fresh()
    assert fresh() == first and len(planned) == 1
    (file,) = kept(tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o700


@needs_litert
def test_verify_after_compile_plans_nothing(planned: list[str], tmp_path: Path) -> None:
    with using(CompilerSession(disk=True)):
        assert main(["compile", str(DIGITS), "-t", "host", "-o", str(tmp_path / "out")]) == 0
    for command in (["verify", str(DIGITS), "-t", "host", "--inputs", "2"], ["plan", str(DIGITS), "-t", "host"]):
        with using(CompilerSession(disk=True)):
            assert main(command) == 0
    assert len(planned) == 1


def test_what_plans_depend_on_makes_another_plan(planned: list[str]) -> None:
    options: list[dict[str, Any]] = [{}, {"target": "cortex-m0plus"}, {"optimize": "size"}, {"ram": 2000}]
    for some in options:
        fresh(**some)
    assert len(planned) == len(options)
    for some in options:
        fresh(**some)
    assert len(planned) == len(options)


def test_options_of_the_c_alone_plan_nothing_again(planned: list[str]) -> None:
    assert fresh(name="one") != fresh(name="two", single_file=True) and len(planned) == 1


def test_a_session_knows_no_results_of_another(planned: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, cache.OFF)
    with using(CompilerSession(disk=True)):
        one, two = (compile(DIGITS, target=CORE) for _ in range(2))
        assert one.plan is two.plan and len(planned) == 1
        compile(DIGITS, target="cortex-m0plus")
        assert one.prepared is compile(DIGITS, target=CORE, optimize="size").prepared
    fresh()
    assert len(planned) == 4


# Files that are written anew, with the same name, length and time


def other_weights() -> bytes:
    """The model of digits with another weight."""
    data = bytearray(DIGITS.read_bytes())
    graph = frontends.load(DIGITS)
    weights = next(t.data for op in graph.ops if op.weights is not None for t in [graph.tensors[op.weights]])
    assert weights is not None
    data[data.index(weights.tobytes())] ^= 1
    return bytes(data)


def samples(most: int) -> bytes:
    """Labelled images for digits, in an archive."""
    rng, file = np.random.default_rng(0), BytesIO()
    images = rng.integers(-128, most, (20, 8, 8, 1)).astype(np.int8)
    np.savez(file, x=images, y=rng.integers(0, 10, 20).astype(np.int32))
    return file.getvalue()


def pins(kernel: str) -> bytes:
    sha = sha256(DIGITS.read_bytes()).hexdigest()
    text = f'# Pins of a model\nformat = 1\nmodel = "{sha}"\ntarget = "{CORE}"\n[kernels]\n"0" = "{kernel}"\n'
    return text.encode()


def part(core: str) -> bytes:
    return f'extends = "{core}"\n'.encode()


FILES: dict[str, tuple[str, bytes, bytes, Callable[[Path], dict[str, Any]]]] = {
    "model": ("model.tflite", DIGITS.read_bytes(), other_weights(), lambda path: {"model": path}),
    "train_data": ("data.npz", samples(128), samples(-100), lambda path: {"train": "biases", "train_data": str(path)}),
    "encrypt": ("aes.key", bytes(range(16)), bytes(range(1, 17)), lambda path: {"encrypt": str(path)}),
    "target": ("part.toml", part("cortex-m4"), part("cortex-m0plus"), lambda path: {"target": str(path)}),
    "labels": (
        *("labels.txt", "\n".join("abcdefghij").encode(), "\n".join("abcdefghik").encode()),
        lambda path: {"labels": str(path)},
    ),
    "pins": ("pins.toml", pins("conv2d_s8"), pins("conv3_pair_nhwc_0"), lambda path: {"pins": str(path)}),
}


@pytest.mark.parametrize("option", FILES)
def test_a_file_that_is_written_anew_gives_other_c(option: str, planned: list[str], tmp_path: Path) -> None:
    """In one session, and with one cache."""
    name, first, second, options = FILES[option]
    path, made = tmp_path / name, []
    with using(CompilerSession(disk=True)):
        for data in (first, second, first):
            path.write_bytes(data)
            os.utime(path, (10**9, 10**9))
            model, others = DIGITS, options(path)
            made.append(compile(others.pop("model", model), **{"target": CORE, **others}).project.files)
    assert made[0] == made[2] != made[1]


def test_calibration_data_that_is_written_anew_gives_other_c(planned: list[str], tmp_path: Path) -> None:
    made = []
    with using(CompilerSession(disk=True)):
        for scale in (1.0, 0.25):
            images = np.random.default_rng(0).random((16, 8, 8, 1)).astype(np.float32) * np.float32(scale)
            np.save(tmp_path / "data.npy", images)
            command = ["compile", str(MODELS / "digits_float.tflite"), "--quantize", "int8", "--calibrate"]
            assert main([*command, str(tmp_path / "data.npy"), "-o", str(tmp_path / "out"), "--force"]) == 0
            made.append({f.name: f.read_text() for f in (tmp_path / "out").glob("*.[ch]")})
    assert made[0] != made[1]


def test_keys_hold_no_paths(planned: list[str], tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "digits.tflite").write_bytes(DIGITS.read_bytes())
        fresh(tmp_path / folder / "digits.tflite")
    assert len(planned) == 1


# The disk


def test_another_version_is_not_taken(planned: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = fresh()
    monkeypatch.setattr(stages, "version", lambda: "another")
    assert fresh() == first and len(planned) == 2 and len(kept(tmp_path)) == 2


def test_the_version_is_of_the_sources() -> None:
    """A file that has changed makes other results."""
    found = {name for name, _, _ in stages._stamps(Path(mote.__file__).parent)}
    assert {"/compiler/plan/planner.py", "/version.py"} <= found and any(name.endswith(".toml") for name in found)


@pytest.mark.parametrize("damage", ["cut", "bit", "empty", "bomb", "another", "type"])
def test_a_damaged_entry_is_planned_again(damage: str, planned: list[str], tmp_path: Path) -> None:
    first = fresh()
    (file,) = kept(tmp_path)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    bomb = zlib.compress(bytes(cache.LARGEST + 1))
    forged = CacheFolder(file.parent)
    if damage == "another":
        forged.write(file.name, b'{"objects": [], "root": 3}')
    elif damage == "type":
        forged.write(file.name, b'{"objects": [{"$type": "os:system"}], "root": {"$ref": 0}}')
    else:
        file.write_bytes({"cut": bytes(data[:-9]), "bit": bytes(data), "empty": b"", "bomb": bytes(32) + bomb}[damage])
    assert fresh() == first and len(planned) == 2
    assert fresh() == first and len(planned) == 2, "it was written anew"


def test_a_plan_of_the_disk_is_checked(planned: list[str], tmp_path: Path) -> None:
    """As one of the planner is: buffers that overlap are refused."""
    first = fresh()
    (file,) = kept(tmp_path)
    plan = compile(DIGITS, target=CORE).plan
    buffers = tuple(replace(buffer, offsets=tuple(0 for _ in buffer.offsets)) for buffer in plan.buffers)
    CacheFolder(file.parent).write(file.name, replace(plan, buffers=buffers).to_json().encode())
    assert fresh() == first and len(planned) == 3


def test_the_size_is_limited(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path / "plans", most=10_000)
    rng = np.random.default_rng(0)
    for i in range(20):
        folder.write(f"{i:02}", rng.bytes(1000))
        os.utime(tmp_path / "plans" / f"{i:02}", (10**9 + i, 10**9 + i))
        assert folder.read("00") is not None or i > 8
        assert sum(file.nbytes for file in cache.files_of(folder.path)) <= 10_000
    assert folder.read("19") is not None and folder.read("05") is None
    folder.write("large", rng.bytes(20_000))
    assert folder.read("large") is None


def test_a_session_keeps_the_last_results() -> None:
    made: list[int] = []

    def square(number: int, *, power: int) -> int:
        made.append(number)
        return int(number**power)

    stage, own = CompilerStage("power", square, ("power",)), CompilerSession()
    settings = SimpleNamespace(power=2, other=1)
    for number in range(KEPT + 1):
        assert own.result(stage, number, settings=settings) == number**2
    own.result(stage, KEPT, settings=SimpleNamespace(power=2, other=5))
    assert made == [*range(KEPT + 1)], "an option that a stage does not name is none of its options"
    own.result(stage, 0, settings=settings)
    own.result(stage, 0, settings=SimpleNamespace(power=3))
    assert made == [*range(KEPT + 1), 0, 0]


def test_contents_are_of_values() -> None:
    assert contents({"b": (1, 2), "a": [3]}) == contents({"a": (3,), "b": [1, 2]})
    data = mote.dataset({"x": np.eye(3)})
    assert contents(data) == contents(mote.dataset({"x": np.eye(3)})) != contents(mote.dataset({"x": np.eye(3)[::-1]}))


def test_processes_write_one_folder_at_once(tmp_path: Path) -> None:
    """Each gets the C that one alone makes; nothing is left beside the entries."""
    place = tmp_path / "cache"
    environment = {**os.environ, cache.VARIABLE: str(place)}
    code = "import mote, hashlib; print(hashlib.sha256(repr(mote.compile({!r}, target='cortex-m4').project.files)"
    code = (code + ".encode()).hexdigest())").format(str(DIGITS))

    def started() -> str:
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    with ThreadPoolExecutor(3) as pool:
        outcomes = {future.result() for future in [pool.submit(started) for _ in range(3)]}
    assert len(outcomes) == 1 and len(kept(tmp_path)) == 1
    assert started() in outcomes


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_folder_that_others_can_write_is_refused(planned: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache" / cache.PLANS).mkdir(parents=True)
    (tmp_path / "cache" / cache.PLANS).chmod(0o777)
    with pytest.raises(MoteError, match="can be written by other users") as caught:
        fresh()
    assert "MOTE_CACHE=off" in str(caught.value.remedy)


def test_a_folder_that_cannot_be_is_no_error(planned: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert fresh() == fresh() and len(planned) == 2


def test_cache_is_shown_and_cleared(planned: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fresh()
    capsys.readouterr()
    assert main(["cache", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["folder"] == str(tmp_path / "cache") and told["plans"]["files"] == 1 and told["plans"]["bytes"] > 1000
    assert main(["cache", "--clear"]) == 0
    assert "plans: 0 files, 0 bytes" in capsys.readouterr().out and not kept(tmp_path)
    fresh()
    assert len(planned) == 2
