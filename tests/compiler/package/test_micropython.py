"""The MicroPython package: its C and Python run in CPython over MicroPython's API, and in MicroPython where it is."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from mote.base.errors import MoteError
from mote.compiler.line import compile
from mote.compiler.package.description import Package
from mote.deploy.runtime import runtime
from tests.helpers.support import needs

MODELS = Path(__file__).parents[3] / "models"
NAMES = ["null", 'one "1"', "zwei", "drei", "vier", "fünf", "six\\", "sept", "huit", "nine"]
DIGITS, KEYWORDS = MODELS / "digits.tflite", MODELS / "keywords.tflite"
API = Path(__file__).parent / "micropython_api"
BEGIN = """
PyMODINIT_FUNC PyInit_{name}(void) {{
    static struct PyModuleDef about = {{PyModuleDef_HEAD_INIT, .m_name = "{name}", .m_size = -1}};
    mp_obj_fun_bc_t self = {{PyModule_Create(&about)}};
    return mpy_init(&self, 0, 0, NULL) == NULL ? NULL : self.module;
}}
"""


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def built(package: Package, folder: Path) -> None:
    """Makes an extension of the module, and one module of it and its Python, as MicroPython's build files do."""
    needs("cc")
    include = Path(sysconfig.get_paths()["include"])
    if not (include / "Python.h").is_file():
        pytest.skip("the headers of Python are not installed")
    name = package.name
    module = folder / f"{name}_module.c"
    text = module.read_text()
    globals_ = re.sub(r"MP_QSTR_(\w+)", r'"\1"', text)
    (folder / "extension.c").write_text(globals_ + BEGIN.format(name=f"{name}_native"))
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    flags = ["-std=c99", "-O1", "-Wall", "-fPIC", "-shared", "-fwrapv", f"-I{API}", f"-I{include}", "-I."]
    sources = ["extension.c", *package.sources]
    run("cc", *flags, *sources, "-o", f"{name}_native{suffix}", cwd=folder)
    merged = f"from {name}_native import *\nfrom {name}_native import {', '.join(names(text))}\n"
    (folder / f"{name}.py").write_text(merged + (folder / f"{name}_python.py").read_text())


def names(module: str) -> list[str]:
    return re.findall(r"MP_QSTR_(_\w+)", module)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (DIGITS, {"labels": NAMES}),
        pytest.param(KEYWORDS, {"stream": 1, "causal": True}, marks=pytest.mark.slow),
        pytest.param(KEYWORDS, {"input": "rows"}, marks=pytest.mark.slow),
        pytest.param(MODELS / "digits_float.tflite", {}, marks=pytest.mark.slow),
    ],
)
def test_the_example_prints_the_classes(model: Path, options: dict[str, Any], tmp_path: Path) -> None:
    compiled = compile(model, instances=True, **options)
    compiled.write(tmp_path, ["micropython"])
    built(compiled.package, tmp_path)
    assert run(sys.executable, "example.py", cwd=tmp_path).splitlines() == list(compiled.package.example.lines)


def test_the_class_refuses_wrong_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compile(DIGITS, instances=True)
    compiled.write(tmp_path, ["micropython"])
    built(compiled.package, tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = importlib.util.spec_from_file_location("digits", tmp_path / "digits.py")
    assert spec is not None and spec.loader is not None
    digits = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(digits)
    model = digits.Model()
    with pytest.raises(ValueError, match="another number of bytes"):
        model.run(bytes(63))
    with pytest.raises(ValueError, match="no such input"):
        model.run(bytes(64), bytes(64))
    with pytest.raises(ValueError, match="too little memory"):
        digits._init(bytearray(100))
    assert digits.quantize(0.5) == -1 and digits.quantize(9.0) == 127 and digits.dequantize(-128) == 0.0


@pytest.mark.slow
def test_the_example_of_the_runtime_prints_the_classes(tmp_path: Path) -> None:
    made = runtime("minimal")
    made.write(tmp_path, ["micropython"])
    built(made.package, tmp_path)
    assert run(sys.executable, "example.py", cwd=tmp_path).splitlines() == list(made.package.example.lines)


def test_the_objects_have_no_variables(tmp_path: Path) -> None:
    """MicroPython's linker takes no .data."""
    needs("arm-none-eabi-gcc", "arm-none-eabi-size")
    compile(DIGITS, target="cortex-m4", instances=True).write(tmp_path, ["micropython"])
    flags = ["-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard", "-fpic", "-Os", "-std=c99", "-I."]
    run("arm-none-eabi-gcc", *flags, "-Wall", "-Werror", "-c", "digits.c", cwd=tmp_path)
    sections = dict(re.findall(r"^(\.\S+)\s+(\d+)", run("arm-none-eabi-size", "-A", "digits.o", cwd=tmp_path), re.M))
    assert int(sections[".data"]) == int(sections[".bss"]) == 0


def test_what_cannot_be_a_module_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MoteError, match="Helium"):
        compile(DIGITS, target="cortex-m55", instances=True).write(tmp_path / "a", ["micropython"])
    with pytest.raises(MoteError, match="part of its memory"):
        compile(DIGITS, instances=True, caller_arena=True).write(tmp_path / "a", ["micropython"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif("MPY_DIR" not in os.environ, reason="MPY_DIR does not name MicroPython's source")
def test_micropython_itself_builds_and_runs_it(tmp_path: Path) -> None:
    """With mpy-cross and the standard unix port built in MPY_DIR."""
    compiled = compile(DIGITS, instances=True)
    compiled.write(tmp_path, ["micropython"])
    source = Path(os.environ["MPY_DIR"])
    run("make", f"MPY_DIR={source}", "ARCH=x64", "CROSS=", f"PYTHON={sys.executable}", cwd=tmp_path)
    interpreter = str(source / "ports/unix/build-standard/micropython")
    assert run(interpreter, "example.py", cwd=tmp_path).splitlines() == list(compiled.package.example.lines)
