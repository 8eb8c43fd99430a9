"""Model Library Format: an archive as readers of version 7 take it, whose sources compile and whose example runs."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from mote.base.errors import MoteError
from mote.compiler.line import compile
from mote.compiler.package import mlf
from mote.compiler.several import compile_shared
from mote.deploy.runtime import runtime
from mote.ui.cli import main
from tests.helpers.support import needs

MODELS = Path(__file__).parents[3] / "models"
DIGITS, KEYWORDS = MODELS / "digits.tflite", MODELS / "keywords.tflite"
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
MODULE = {
    "model_name": str,
    "export_datetime": str,
    "memory": dict,
    "target": list,
    "executors": list,
    "style": str,
    "external_dependencies": list,
}
MAIN = {
    "device": int,
    "workspace_size_bytes": int,
    "constants_size_bytes": int,
    "io_size_bytes": int,
    "inputs": dict,
    "outputs": dict,
}
"""Types of the keys that version 7 of the format has."""


def sources(folder: Path) -> list[str]:
    return sorted(map(str, (folder / "codegen/host/src").glob("*.c")))


def check_metadata(text: str, name: str) -> dict[str, Any]:
    read = json.loads(text)
    assert read["version"] == 7 and set(read["modules"]) == {name}
    module: dict[str, Any] = read["modules"][name]
    assert {key: type(value) for key, value in module.items()} == MODULE
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", module["export_datetime"])
    for entry in module["memory"]["functions"]["main"]:
        assert {key: type(value) for key, value in entry.items()} == MAIN
    return module


def test_an_archive_is_read_compiled_and_run(tmp_path: Path) -> None:
    needs("cc")
    for name in ("a.tar", "b.tar"):
        assert main(["compile", str(DIGITS), "--package", "mlf", "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()
    with tarfile.open(tmp_path / "a.tar") as tar:
        tar.extractall(tmp_path / "model", filter="data")
    compiled, folder = compile(DIGITS), tmp_path / "model"
    module = check_metadata((folder / "metadata.json").read_text(), "digits")
    (entry,) = module["memory"]["functions"]["main"]
    assert entry["workspace_size_bytes"] == compiled.plan.arena
    assert entry["constants_size_bytes"] == compiled.project.constants
    assert [(v["dtype"], v["size"]) for v in entry["inputs"].values()] == [("int8", 64)]
    assert [(v["dtype"], v["size"]) for v in entry["outputs"].values()] == [("int8", 10)]
    assert (module["target"], module["executors"]) == (["c"], ["aot"])
    include = f"-I{folder / 'codegen/host/include'}"
    command = ["cc", *STRICT, include, *sources(folder), str(folder / "example/main.c"), "-o", str(tmp_path / "app")]
    subprocess.run(command, check=True)
    done = subprocess.run([tmp_path / "app"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == list(compiled.package.example.lines)


def test_sources_compile_for_a_core(tmp_path: Path) -> None:
    needs("arm-none-eabi-gcc")
    compiled = compile(DIGITS, target="cortex-m4")
    compiled.write(tmp_path, ["mlf"])
    module = check_metadata((tmp_path / "metadata.json").read_text(), "digits")
    assert module["target"] == ["c -keys=arm_cpu,cpu -mcpu=cortex-m4"]
    core = compiled.settings.target.gcc_flags
    command = ["arm-none-eabi-gcc", *core, *STRICT, f"-I{tmp_path}/codegen/host/include", "-c", *sources(tmp_path)]
    subprocess.run(command, cwd=tmp_path, check=True)


@pytest.mark.slow
def test_a_runtime_has_the_layout_too(tmp_path: Path) -> None:
    needs("cc")
    made = runtime("minimal")
    made.write(tmp_path, ["mlf"])
    module = check_metadata((tmp_path / "metadata.json").read_text(), "mote_runtime")
    assert module["memory"]["functions"]["main"] == module["executors"] == []
    include = f"-I{tmp_path / 'codegen/host/include'}"
    command = ["cc", "-std=c99", "-fwrapv", include, *sources(tmp_path), str(tmp_path / "example/main.c")]
    subprocess.run([*command, "-o", str(tmp_path / "app")], check=True)
    done = subprocess.run([tmp_path / "app"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == list(made.package.example.lines)


def test_several_models_are_refused() -> None:
    with pytest.raises(MoteError, match="one by one"):
        mlf.files(compile_shared([DIGITS, KEYWORDS]).package)
