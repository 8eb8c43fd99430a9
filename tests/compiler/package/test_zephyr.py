"""Zephyr packages: metadata by the published rules, Kconfig by kconfiglib, sources against the documented API, and a
build with the user's own Zephyr."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mote.compiler.line import compile
from mote.compiler.package import zephyr
from mote.compiler.package.adapters import adapters_files
from mote.compiler.package.description import Files, Package
from mote.compiler.package.runtime_project import NAME as RUNTIME
from mote.compiler.package.runtime_project import WRAPPING
from mote.deploy.runtime import runtime
from tests.helpers.support import needs

MODELS = Path(__file__).parents[3] / "models"
DIGITS = MODELS / "digits.tflite"
API = Path(__file__).with_name("zephyr_api")
"""Headers with the functions of Zephyr that packages call, as documented."""
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-fwrapv"]
CROSS = {
    "cortex-m3": ("arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb"),
    "rv32imc": ("riscv64-unknown-elf-gcc", "-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs"),
}
MODULE = {"name": str, "build": dict, "samples": list}
"""Types of the keys of zephyr/module.yml that packages use, by Zephyr's schema of module metadata."""
BUILD = {"cmake": str, "kconfig": str}
SCENARIO = {"tags": str, "arch_allow": str, "harness": str, "harness_config": dict, "integration_platforms": list}
HARNESS = {"type": str, "ordered": bool, "regex": list}
"""Types of the keys of sample.yaml that packages use, by Zephyr's schema of test suites."""
EMULATED = {
    "cortex-m3": ("mps2/an385", "qemu-system-arm -M mps2-an385 -cpu cortex-m3 -nographic -kernel"),
    "rv32imc": ("qemu_riscv32", "qemu-system-riscv32 -M virt -bios none -nographic -kernel"),
}


def written(files: Files, folder: Path) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def adapted(*names: str) -> Package:
    """A runtime with adapters, of files that stand in for its own."""
    files = {"mote_runtime.c": "", "mote_runtime.h": ""}
    package = compile(DIGITS).package
    described = replace(package, name=RUNTIME, sources=("mote_runtime.c",), headers=("mote_runtime.h",))
    return replace(described, files={**files, **adapters_files(names)}, needed=(WRAPPING,))


def check_keys(given: Mapping[str, Any], rules: Mapping[str, type]) -> None:
    for key, value in given.items():
        assert type(value) is rules[key], f"{key}: {value!r}"


@pytest.mark.parametrize("core", ["host", "cortex-m3", "cortex-m4", "rv32imc", "esp32s3"])
def test_metadata_has_the_published_form(core: str, tmp_path: Path) -> None:
    package = compile(DIGITS, target=core).package
    written(zephyr.files(package), tmp_path)
    yaml = pytest.importorskip("yaml")
    module = yaml.safe_load((tmp_path / "zephyr/module.yml").read_text())
    check_keys(module, MODULE)
    check_keys(module["build"], BUILD)
    assert module["name"] == "mote_digits"
    assert (tmp_path / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    assert (tmp_path / module["build"]["kconfig"]).is_file()
    assert all((tmp_path / folder / "digits" / "sample.yaml").is_file() for folder in module["samples"])

    sample = yaml.safe_load((tmp_path / "samples/digits/sample.yaml").read_text())
    assert set(sample) == {"sample", "common", "tests"}
    check_keys(sample["sample"], {"name": str, "description": str})
    check_keys(sample["common"], SCENARIO)
    check_keys(sample["common"]["harness_config"], HARNESS)
    for name, scenario in sample["tests"].items():
        assert re.fullmatch(r"[\w.]+", name)
        check_keys(scenario, SCENARIO)
    patterns = sample["common"]["harness_config"]["regex"]
    assert len(patterns) == len(package.example.lines)
    for pattern, line in zip(patterns, package.example.lines, strict=True):
        assert re.fullmatch(pattern, line)


def test_lines_with_brackets_and_quotes_are_patterns(tmp_path: Path) -> None:
    package = compile(DIGITS).package
    lines = ("digits 0: class 1 (it's 50% [a|b] \\ c?), score 1.000",)
    odd = replace(package, example=replace(package.example, lines=lines))
    yaml = pytest.importorskip("yaml")
    sample = yaml.safe_load(zephyr.files(odd)["samples/digits/sample.yaml"])
    (pattern,) = sample["common"]["harness_config"]["regex"]
    assert re.fullmatch(pattern, lines[0])


ZEPHYR_KCONFIG = """\
config MULTITHREADING
\tbool "Multi-threading"
\tdefault y
config CPU_HAS_FPU
\tbool "FPU"
\tdefault y
config FPU
\tbool "Floating point unit"
\tdepends on CPU_HAS_FPU
config NO_OPTIMIZATIONS
\tbool "No optimizations"
config REQUIRES_FULL_LIBC
\tbool "Full C library"
rsource "module/zephyr/Kconfig"
"""
"""The symbols of Zephyr that packages refer to."""


def configured(package: Package, folder: Path, *lines: str) -> Any:
    kconfiglib = pytest.importorskip("kconfiglib")
    written(zephyr.files(package), folder / "module")
    (folder / "Kconfig").write_text(ZEPHYR_KCONFIG)
    (folder / "lines.conf").write_text("".join(f"{line}\n" for line in lines))
    known = kconfiglib.Kconfig(str(folder / "Kconfig"), warn_to_stderr=False)
    known.warn_assign_undef = True
    known.load_config(str(folder / "lines.conf"))
    assert not known.warnings
    return {name: symbol.str_value for name, symbol in known.syms.items()}


def test_kconfig_is_understood(tmp_path: Path) -> None:
    package = compile(DIGITS, target="cortex-m4").package
    off = configured(package, tmp_path)
    assert off["MOTE_MODEL_DIGITS"] == off["FPU"] == "n"
    on = configured(package, tmp_path, "CONFIG_MOTE_MODEL_DIGITS=y")
    assert on["MOTE_MODEL_DIGITS_OPTIMIZED"] == on["FPU"] == "y"
    configured(
        package,
        tmp_path,
        *(
            line
            for line in str(zephyr.files(package)["samples/digits/prj.conf"]).splitlines()
            if line.startswith("CONFIG_MOTE")
        ),
    )


def test_kconfig_of_a_runtime_has_options_of_its_adapters(tmp_path: Path) -> None:
    plain = configured(adapted(), tmp_path / "plain", "CONFIG_MOTE_RUNTIME=y")
    assert "MOTE_SERVICE" not in plain and "MOTE_VERIFY_PSA" not in plain
    served = configured(adapted("zephyr", "psa"), tmp_path / "served", "CONFIG_MOTE_RUNTIME=y")
    assert (served["MOTE_SERVICE"], served["MOTE_SERVICE_SLOTS"], served["MOTE_VERIFY_PSA"]) == ("y", "4", "n")


CALLS = (
    "zephyr_include_directories",
    "zephyr_library_named",
    "zephyr_library_sources",
    "zephyr_library_compile_options",
    "zephyr_compile_definitions",
)
MACROS = "".join(f'macro({name})\n  message("{name} ${{ARGN}}")\nendmacro()\n' for name in CALLS)
STUBS = f"cmake_minimum_required(VERSION 3.13)\nproject(app NONE)\n{MACROS}add_subdirectory(module/zephyr)\n"
"""A build that prints the calls of Zephyr's CMake functions."""


def told(folder: Path, *options: str) -> dict[str, set[str]]:
    """Arguments of the module's calls of Zephyr's CMake functions."""
    command = ["cmake", "-S", str(folder), "-B", str(folder / "build"), *(f"-DCONFIG_{option}" for option in options)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    calls: dict[str, set[str]] = {}
    for line in done.stderr.splitlines():
        name, *words = line.replace(";", " ").split() or [""]
        calls.setdefault(name.removeprefix("zephyr_"), set()).update(word.rpartition("/")[2] for word in words)
    return calls


def test_the_module_builds_what_is_asked_for(tmp_path: Path) -> None:
    needs("cmake")
    (tmp_path / "CMakeLists.txt").write_text(STUBS)
    written(zephyr.files(adapted("zephyr", "psa")), tmp_path / "module")
    assert not told(tmp_path)
    asked = {"mote_service.c", "mote_port.c", "mote_verify_psa.c"}
    calls = told(tmp_path, "MOTE_RUNTIME=y")
    assert calls["library_sources"] == {"mote_runtime.c"} and calls["library_named"] == {"mote_runtime"}
    assert calls["library_compile_options"] == {"-fwrapv"} and "compile_definitions" not in calls
    sizes = ("MOTE_SERVICE_SLOTS=3", "MOTE_SERVICE_STACK_SIZE=1024")
    calls = told(tmp_path, "MOTE_RUNTIME=y", "MOTE_RUNTIME_OPTIMIZED=y", "MOTE_SERVICE=y", "MOTE_VERIFY_PSA=y", *sizes)
    assert calls["library_sources"] == {"mote_runtime.c", *asked}
    assert {"-fwrapv", "-O2"} <= calls["library_compile_options"]
    assert calls["compile_definitions"] == {"MOTE_SERVICE_SLOTS=3", "MOTE_SERVICE_STACK_BYTES=1024"}


def test_the_sample_prints_the_lines_on_the_host(tmp_path: Path) -> None:
    needs("cc")
    package = compile(DIGITS).package
    written(zephyr.files(package), tmp_path)
    sources = [str(tmp_path / "src" / path) for path in package.sources]
    main = tmp_path / "samples/digits/src/main.c"
    command = ["cc", *STRICT, f"-I{API}", f"-I{tmp_path / 'src'}", *sources, str(main), "-o", str(tmp_path / "app")]
    subprocess.run(command, check=True)
    done = subprocess.run([tmp_path / "app"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == list(package.example.lines)


@pytest.mark.parametrize("core", CROSS)
def test_sources_compile_for_cores(core: str, tmp_path: Path) -> None:
    compiler, *flags = CROSS[core]
    needs(compiler)
    package = compile(DIGITS, target=core).package
    written(zephyr.files(package), tmp_path)
    sources = [*map(str, (tmp_path / "src").glob("*.c")), str(tmp_path / "samples/digits/src/main.c")]
    include = [f"-I{API}", f"-I{tmp_path / 'src'}"]
    subprocess.run([compiler, *flags, *STRICT, "-Os", *include, "-c", *sources], cwd=tmp_path, check=True)


@pytest.mark.slow
@pytest.mark.parametrize("core", EMULATED)
@pytest.mark.parametrize("kind", ["model", "runtime"])
def test_the_sample_runs_on_zephyr(kind: str, core: str, tmp_path: Path) -> None:
    """The module and its sample in a build of Zephyr, on the emulated board. The toolchain is the one that Zephyr's
    variables name, modules are those of the west workspace or of ZEPHYR_MODULES."""
    if "ZEPHYR_BASE" not in os.environ:
        pytest.skip("ZEPHYR_BASE does not name a Zephyr tree")
    board, emulator = EMULATED[core]
    needs("cmake", "ninja", emulator.split()[0])
    made: Any = compile(DIGITS, target=core) if kind == "model" else runtime("minimal", target=core)
    made.write(tmp_path / "module", ["zephyr"])
    (app,) = (tmp_path / "module/samples").iterdir()
    modules = [f"-DZEPHYR_MODULES={os.environ['ZEPHYR_MODULES']}"] if "ZEPHYR_MODULES" in os.environ else []
    setup = ["cmake", "-GNinja", "-S", str(app), "-B", str(tmp_path / "build"), f"-DBOARD={board}", *modules]
    for command in (setup, ["cmake", "--build", str(tmp_path / "build")]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    lines = made.package.example.lines
    assert printed(f"{emulator} {tmp_path / 'build/zephyr/zephyr.elf'}", len(lines)) == list(lines)


def printed(command: str, count: int) -> list[str]:
    """The last of the first lines that a machine prints, which does not end by itself."""
    timeout = shutil.which("timeout")
    assert timeout is not None
    process = subprocess.Popen(
        [timeout, "60", *command.split()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        if not line.startswith("***"):
            lines.append(line.rstrip())
        if len(lines) == count:
            break
    process.terminate()
    process.wait()
    return lines
