"""Packages: one description for compiled models and the runtime, folders and archives, examples that print classes."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from mote.base.errors import MoteError
from mote.base.files import write_archive
from mote.compiler.line import compile
from mote.compiler.package.description import licence, metadata
from mote.compiler.package.packagers import PACKAGERS
from mote.deploy.runtime import EXAMPLE_MODEL, runtime
from mote.ui.cli import main
from tests.helpers.support import needs

ROOT = Path(__file__).parents[3]
MODELS = ROOT / "models"
DIGITS, KEYWORDS = MODELS / "digits.tflite", MODELS / "keywords.tflite"
STRICT = "-std=c99 -Wall -Wextra -Wconversion -pedantic -Werror -fwrapv"


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("model", "options"),
    [
        (DIGITS, {"labels": ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")}),
        (KEYWORDS, {"stream": 1, "causal": True}),
        (MODELS / "digits_float.tflite", {"caller_arena": True}),
        (KEYWORDS, {"input": "rows"}),
    ],
)
def test_the_example_prints_what_the_reference_says(model: Path, options: dict[str, Any], tmp_path: Path) -> None:
    needs("cc", "make")
    compiled = compile(model, **options)
    compiled.write(tmp_path, ["make"])
    run("make", "-s", f"CFLAGS={STRICT}", "example/example", cwd=tmp_path)
    lines = run("example/example", cwd=tmp_path).splitlines()
    assert lines == list(compiled.package.example.lines)
    assert any("class" in line for line in lines)


@pytest.mark.slow
def test_a_runtime_is_a_package_too(tmp_path: Path) -> None:
    needs("cc", "cmake")
    made = runtime("minimal")
    made.write(tmp_path / "library", ["cmake"])
    run("cmake", "-S", "library", "-B", "build", cwd=tmp_path)
    run("cmake", "--build", "build", cwd=tmp_path)
    printed = run("build/example", cwd=tmp_path).splitlines()
    assert printed == list(made.package.example.lines) == list(compile(DIGITS).package.example.lines)


def test_the_files_that_are_copies_of_others() -> None:
    assert EXAMPLE_MODEL.read_bytes() == DIGITS.read_bytes()
    assert (ROOT / "LICENSE").read_text() == licence()


def test_several_packages_have_folders_of_their_own(tmp_path: Path) -> None:
    assert main(["compile", str(DIGITS), "--package", "make,cmake", "-o", str(tmp_path / "out")]) == 0
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"make", "cmake", "mote.sha256"}
    assert (tmp_path / "out/make/Makefile").is_file() and not (tmp_path / "out/make/CMakeLists.txt").exists()
    assert (tmp_path / "out/cmake/LICENSE").read_text() == licence()


def test_an_archive_holds_the_files_of_the_folder(tmp_path: Path) -> None:
    compiled = compile(DIGITS)
    compiled.write(tmp_path / "out", ["make"])
    for name in ("a.zip", "b.zip"):
        compiled.write(tmp_path / name, ["make"])
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    shutil.unpack_archive(tmp_path / "a.zip", tmp_path / "unpacked")
    names = {p.relative_to(tmp_path / "out") for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert {p.relative_to(tmp_path / "unpacked") for p in (tmp_path / "unpacked").rglob("*") if p.is_file()} == {
        name for name in names if name.name != "mote.sha256"
    }


def test_archives_replace_archives_only(tmp_path: Path) -> None:
    path = tmp_path / "model.tar"
    write_archive(str(path), {"a/b.txt": "text", "c.bin": b"\0\1"})
    write_archive(str(path), {"a/b.txt": "other"})
    with tarfile.open(path) as tar:
        assert tar.getnames() == ["a/b.txt"]
    precious = tmp_path / "notes.zip"
    precious.write_text("mine")
    with pytest.raises(MoteError, match="another kind"):
        write_archive(str(precious), {"a": ""})
    assert precious.read_text() == "mine"
    write_archive(str(tmp_path / "x.pack"), {"a": ""})
    assert zipfile.ZipFile(tmp_path / "x.pack").namelist() == ["a"]


def test_an_edited_example_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    program = folder / "example" / "main.c"
    compile(DIGITS).write(folder)
    program.write_text("/* mine */\n")
    compile(DIGITS, target="cortex-m4").write(folder)
    compile(DIGITS).write(folder)
    assert program.read_text() == "/* mine */\n"
    (folder / "digits.c").write_text("/* mine */\n")
    with pytest.raises(MoteError, match=r"digits\.c was changed"):
        compile(DIGITS).write(folder)
    assert "example/main.c" in compile(DIGITS).write(folder, force=True)
    assert "digits_run" in program.read_text()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (["version=1"], "not three numbers"),
        (["email=ada"], "not an address"),
        (["url=example"], "not an address of the web"),
        (["autor=me"], "did you mean: author"),
        (["author"], "not understood"),
        (['author="me"'], "characters"),
    ],
)
def test_bad_metadata_is_refused(given: list[str], reason: str) -> None:
    with pytest.raises(MoteError) as refusal:
        metadata(given)
    assert reason in str(refusal.value)


def test_an_unknown_packager_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(DIGITS), "--package", "mke", "-o", str(tmp_path / "out")]) == 1
    assert "there is no packager 'mke'" in (printed := capsys.readouterr().err) and "make" in printed
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("target", "given", "refused", "fitting"),
    [
        ("cortex-m4", "zephyr,esp-idf,make", {"esp-idf": "no part that ESP-IDF builds for"}, "zephyr,make"),
        ("rv32imc", "cmsis-pack,make", {"cmsis-pack": "Cortex-M"}, "make"),
        ("cortex-m55", "esp-idf,micropython,mlf", {"esp-idf": "cortex-m55", "micropython": "Helium"}, "mlf"),
        ("atmega328p", "esp-idf,cmsis-pack", {"esp-idf": "atmega328p", "cmsis-pack": "Cortex-M"}, ""),
    ],
)
def test_packages_that_do_not_fit_are_named(
    target: str, given: str, refused: dict[str, str], fitting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written; the packages that the remedy lists are."""
    command = ["compile", str(DIGITS), "-t", target, "-o", str(tmp_path / "out"), "--package"]
    assert main([*command, given]) == 1
    printed = " ".join(capsys.readouterr().err.split())
    for name, why in refused.items():
        assert re.search(rf"'{name}' does not fit: [^;]*{why}", printed), printed
    assert not (tmp_path / "out").exists()
    if fitting:
        assert f"use {fitting} alone, or " in printed and main([*command, fitting]) == 0
    else:
        assert " alone" not in printed


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("name", PACKAGERS)
def test_every_packager_has_a_licence_and_files_to_edit_that_are_there(name: str, tmp_path: Path) -> None:
    options = dict(PACKAGERS[name].settings)
    compiled = compile(DIGITS, **options)
    compiled.write(tmp_path, [name])
    assert (tmp_path / "LICENSE").is_file()
    for path in PACKAGERS[name].edited:
        assert (tmp_path / path.format(name="digits")).is_file()
