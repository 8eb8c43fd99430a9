"""`mote_add_model()` in real builds of CMake: what is built runs, and is compiled again when that is due."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mote
from mote.compiler.line import compile
from mote.compiler.package.description import Package
from mote.ui.cli import main, parser
from mote.ui.cli.commands.cmake import FOLDER
from mote.ui.cli.depfile import files_read, write_depfile
from tests.compiler.package.test_zephyr import printed
from tests.helpers.support import needs, soaked

ROOT = Path(__file__).parents[3]
DIGITS = ROOT / "models" / "digits.tflite"
CASES = soaked([("Ninja", False), ("Ninja", True), ("Unix Makefiles", True)], [("Ninja", False)])
APPLICATION = """\
cmake_minimum_required(VERSION 3.20)
project(application C)
add_subdirectory(models)
add_executable(application main.c)
target_link_libraries(application numbers other)
"""
LIBRARIES = """\
find_package(Mote 0.1 REQUIRED)
mote_add_model(numbers digits.tflite NAME digits TARGET mine.toml LABELS names.txt RAM ${BUDGET})
mote_add_model(other digits.tflite OPTIMIZE size OUTPUTS ${OUTPUT} OPTIONS --caller-arena)
"""
WRAPPER = """\
#!/bin/sh
echo "$1" >> {log}
exec {python} -m mote "$@"
"""


def run(*command: str | Path, cwd: Path, fails: bool = False) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, env=environment)
    assert (done.returncode != 0) == fails, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def mote_in(folder: Path) -> list[str]:
    """Definitions of CMake for a Mote that writes down how often it compiles."""
    wrapper = folder / "mote"
    wrapper.write_text(WRAPPER.format(log=folder / "log", python=sys.executable))
    wrapper.chmod(0o755)
    return [f"-DMote_DIR={FOLDER}", f"-DMOTE_EXECUTABLE={wrapper}"]


def test_files_of_mote_that_cmake_reads_exist() -> None:
    """By their way from the folder of `find_package`: modules of Python move, and CMake's files do not follow them."""
    places = set()
    for script in FOLDER.glob("*.cmake"):
        places |= set(
            re.findall(r"\$\{CMAKE_CURRENT(?:_FUNCTION)?_LIST_DIR\}/((?:\.\./)+\w[\w./]*)", script.read_text())
        )
    assert places == {"../../../version.py", "../../../ui/cli", "../../options"}
    assert all((FOLDER / place).resolve().exists() for place in places)


def test_the_command_of_an_environment_is_where_cmake_looks() -> None:
    """Beside the libraries of the environment in which the files of CMake are."""
    hints = re.findall(r"\$\{libraries\}/([./]+)(bin|Scripts)", (FOLDER / "mote.cmake").read_text())
    assert hints == [("../../../", "bin"), ("../../", "Scripts")]
    up = re.search(
        r"set\(libraries \$\{CMAKE_CURRENT_FUNCTION_LIST_DIR\}/([./]+)\)", (FOLDER / "mote.cmake").read_text()
    )
    assert up and (FOLDER / up.group(1)).resolve() == ROOT / "src"


def write_application(folder: Path, package: Package) -> None:
    """The example of a model as an application that links it."""
    (folder / "CMakeLists.txt").write_text(APPLICATION)
    (folder / "main.c").write_text(package.example.program())
    for path, text in package.example_files.items():
        (folder / path).write_text(text)
    models = folder / "models"
    models.mkdir()
    (models / "CMakeLists.txt").write_text(LIBRARIES)
    shutil.copy(DIGITS, models)
    (models / "parent.toml").write_text('extends = "host"\n')
    (models / "mine.toml").write_text('extends = "parent.toml"\n')
    (models / "names.txt").write_text("".join(f"digit {i}\n" for i in range(10)))


@pytest.mark.slow
@pytest.mark.parametrize(("generator", "every"), CASES)
def test_models_are_compiled_when_that_is_due(generator: str, every: bool, tmp_path: Path) -> None:
    """Two models in a folder of a project; `every` changes every kind of file."""
    needs("cc", "cmake", "ninja" if generator == "Ninja" else "make")
    known = compile(DIGITS)
    graph, package = known.plan.graph, known.package
    write_application(tmp_path, package)
    defined, build, log = mote_in(tmp_path), ["cmake", "--build", "build"], tmp_path / "log"
    output = graph.tensors[graph.outputs[0]].name
    setup = ["cmake", "-G", generator, "-S", ".", "-B", "build", *defined, f"-DOUTPUT={output}", "-DBUDGET=8K"]

    def compiled(*command: str) -> int:
        """How many models a command compiles."""
        before = log.read_text().split().count("compile") if log.exists() else 0
        run(*command, cwd=tmp_path)
        return log.read_text().split().count("compile") - before if log.exists() else 0

    assert compiled(*setup) == 0
    assert compiled(*build) == 2
    assert run("build/application", cwd=tmp_path).splitlines() == list(package.example.lines)
    header = (tmp_path / "build/models/mote/numbers/digits.h").read_text()
    assert "digit 9" in header or "digit 9" in (tmp_path / "build/models/mote/numbers/digits.c").read_text()
    assert "other_init(" in (tmp_path / "build/models/mote/other/other.h").read_text()
    rule = (tmp_path / "build/models/mote/numbers.d").read_text()
    assert str(ROOT / "src/mote/version.py") in rule and str(tmp_path / "models/digits.tflite") in rule

    assert compiled(*build) == 0, "nothing has changed"
    if not every:
        return
    assert compiled(*setup) == compiled(*build) == 0, "nothing has changed but CMake's files"
    for file in ("parent.toml", "names.txt"):
        (tmp_path / "models" / file).write_text((tmp_path / "models" / file).read_text() + "\n")
        assert compiled(*build) == 1, file
    setup[-1] = "-DBUDGET=4K"
    assert (compiled(*setup), compiled(*build)) == (0, 1)
    model = tmp_path / "models/digits.tflite"
    model.write_bytes(b"no model")
    assert "mote: error:" in run(*build, cwd=tmp_path, fails=True)
    model.write_bytes(DIGITS.read_bytes())
    assert compiled(*build) == 2
    run("build/application", cwd=tmp_path)


@pytest.mark.slow
def test_errors_of_mote_stop_the_build(tmp_path: Path) -> None:
    needs("cc", "cmake", "ninja")
    text = "project(a C)\nfind_package(Mote)\nmote_add_model(a a.tflite)\n"
    (tmp_path / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.20)\n{text}")
    (tmp_path / "a.tflite").write_bytes(b"no model")
    run("cmake", "-G", "Ninja", "-B", "build", *mote_in(tmp_path), cwd=tmp_path)
    assert "mote: error:" in run("cmake", "--build", "build", cwd=tmp_path, fails=True)
    assert not (tmp_path / "build/mote/a/a.c").exists()


ERRORS = {
    "mote_add_model(digits digits.tflite RAN 16K)": "no keyword before: RAN",
    "mote_add_model(digits digits.tflite RAM)": "no value after: RAM",
    "mote_add_model(digits digits.tflite TARGET cortex-m5)": "unknown target 'cortex-m5'",
    "find_package(Mote 99)\nmessage(${Mote_CONSIDERED_VERSIONS})": "0.1.0",
}


@pytest.mark.slow
def test_mistakes_are_named_when_a_build_is_configured(tmp_path: Path) -> None:
    needs("cmake")
    defined = mote_in(tmp_path)
    for call, reason in ERRORS.items():
        text = f"cmake_minimum_required(VERSION 3.20)\nproject(a NONE)\nfind_package(Mote)\n{call}\n"
        (tmp_path / "CMakeLists.txt").write_text(text)
        printed = run("cmake", "-B", "build", *defined, cwd=tmp_path, fails="99" not in call)
        assert reason in " ".join(printed.split())


TOOLCHAIN = """\
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_C_FLAGS_INIT "-mcpu=cortex-m3 -mthumb")
set(CMAKE_EXE_LINKER_FLAGS_INIT "--specs=rdimon.specs -Wl,--section-start=.vectors=0")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH /nowhere)
"""
START = """\
#include <stdint.h>
extern void _start(void);
__attribute__((used, section(".vectors"))) static const uintptr_t vectors[] = {0x20010000u, (uintptr_t)&_start};
"""
CROSS = """\
cmake_minimum_required(VERSION 3.20)
project(application C)
find_package(Mote REQUIRED)
mote_add_model(digits digits.tflite TARGET cortex-m3 OPTIMIZE size)
add_executable(application main.c start.c)
target_link_libraries(application digits)
"""


@pytest.mark.slow
def test_a_cross_build_runs_in_the_emulator(tmp_path: Path) -> None:
    needs("cmake", "ninja", "arm-none-eabi-gcc", "qemu-system-arm")
    package = compile(DIGITS, target="cortex-m3").package
    for path, text in {
        "toolchain.cmake": TOOLCHAIN,
        "start.c": START,
        "CMakeLists.txt": CROSS,
        "main.c": package.example.program(),
        **package.example_files,
    }.items():
        (tmp_path / path).write_text(text)
    shutil.copy(DIGITS, tmp_path)
    defined = [f"-DMote_DIR={FOLDER}", f"-DMOTE_PYTHON={sys.executable}", "-DCMAKE_TOOLCHAIN_FILE=toolchain.cmake"]
    run("cmake", "-G", "Ninja", "-B", "build", *defined, cwd=tmp_path)
    run("cmake", "--build", "build", cwd=tmp_path)
    assert "-Os" in run("ninja", "-C", "build", "-t", "commands", "libdigits.a", cwd=tmp_path)
    machine = "qemu-system-arm -M mps2-an385 -nographic -semihosting -kernel"
    lines = package.example.lines
    assert printed(f"{machine} {tmp_path / 'build/application'}", len(lines)) == list(lines)


ZEPHYR = """\
cmake_minimum_required(VERSION 3.20)
project(application C)
function(zephyr_library_named name)
  add_library(${name} STATIC)
  set(ZEPHYR_CURRENT_LIBRARY ${name} PARENT_SCOPE)
endfunction()
function(zephyr_library_sources)
  target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endfunction()
function(zephyr_library_compile_options)
  target_compile_options(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endfunction()
function(zephyr_include_directories)
  target_include_directories(zephyr_interface INTERFACE ${ARGN})
endfunction()
add_library(zephyr_interface INTERFACE)
add_custom_target(zephyr_generated_headers)
add_subdirectory(${Mote_DIR}/zephyr module)
set(CONFIG_RISCV y)
add_library(app STATIC main.c)
target_link_libraries(app PUBLIC zephyr_interface)
add_dependencies(app zephyr_generated_headers)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/empty.c "typedef int empty;")
add_executable(zephyr_final ${CMAKE_CURRENT_BINARY_DIR}/empty.c)
set_target_properties(zephyr_final PROPERTIES OUTPUT_NAME application)
target_link_libraries(zephyr_final app)
mote_add_model(digits digits.tflite)
"""
"""A build with the functions and targets of Zephyr that a library uses."""
IDF = """\
cmake_minimum_required(VERSION 3.20)
project(application C)
macro(idf_component_register)
  add_executable(application main.c)
  set(COMPONENT_LIB application)
endmacro()
set(IDF_TARGET esp32c3)
idf_component_register(SRCS main.c)
find_package(Mote REQUIRED)
mote_add_model(digits digits.tflite)
"""
"""A build with a component of ESP-IDF."""


@pytest.mark.slow
@pytest.mark.parametrize(("text", "core"), [(ZEPHYR, "rv32imc"), (IDF, "esp32c3")], ids=["zephyr", "esp-idf"])
def test_the_function_fits_into_other_builds(text: str, core: str, tmp_path: Path) -> None:
    needs("cc", "cmake", "ninja")
    package = compile(DIGITS, target=core).package
    files = {"CMakeLists.txt": text, "main.c": package.example.program(), **package.example_files}
    for path, content in files.items():
        (tmp_path / path).write_text(content)
    shutil.copy(DIGITS, tmp_path)
    defined = [f"-DMote_DIR={FOLDER}", f"-DMOTE_PYTHON={sys.executable}"]
    run("cmake", "-G", "Ninja", "-B", "build", *defined, cwd=tmp_path)
    assert f"for {core}" in run("cmake", "--build", "build", cwd=tmp_path)
    assert run("build/application", cwd=tmp_path).splitlines() == list(package.example.lines)


@pytest.mark.slow
def test_the_function_in_a_build_of_zephyr(tmp_path: Path) -> None:
    if "ZEPHYR_BASE" not in os.environ:
        pytest.skip("ZEPHYR_BASE does not name a Zephyr tree")
    needs("cmake", "ninja", "qemu-system-arm")
    module = compile(DIGITS, target="cortex-m3")
    module.write(tmp_path / "module", ["zephyr"])
    app = tmp_path / "module/samples/digits"
    (app / "prj.conf").write_text("CONFIG_MAIN_STACK_SIZE=4096\n")
    (app / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20.0)\nfind_package(Zephyr REQUIRED HINTS $ENV{ZEPHYR_BASE})\n"
        f"project(application)\ntarget_sources(app PRIVATE src/main.c)\nmote_add_model(digits {DIGITS})\n"
    )
    modules = [f"-DZEPHYR_MODULES={os.environ['ZEPHYR_MODULES']}"] if "ZEPHYR_MODULES" in os.environ else []
    defined = [f"-DEXTRA_ZEPHYR_MODULES={FOLDER}", f"-DMOTE_PYTHON={sys.executable}", *modules]
    run("cmake", "-GNinja", "-S", app, "-B", "build", "-DBOARD=mps2/an385", *defined, cwd=tmp_path)
    run("cmake", "--build", "build", cwd=tmp_path)
    machine = "qemu-system-arm -M mps2-an385 -cpu cortex-m3 -nographic -kernel"
    lines = module.package.example.lines
    assert printed(f"{machine} {tmp_path / 'build/zephyr/zephyr.elf'}", len(lines)) == list(lines)


def test_the_command_names_the_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cmake"]) == 0
    assert Path(capsys.readouterr().out.strip()) == FOLDER and (FOLDER / "MoteConfig.cmake").is_file()
    assert main(["cmake", "--flags", "-t", "cortex-m55", "--optimize", "speed"]) == 0
    assert capsys.readouterr().out.splitlines() == ["level: -O3", "gcc: -fno-tree-vectorize"]


def test_a_depfile_names_the_files_of_options(tmp_path: Path) -> None:
    (tmp_path / "data/1").mkdir(parents=True)
    for name in ("data/1/a b#$.png", "x.npy", "mine.py", "costs.json"):
        (tmp_path / name).touch()
    (tmp_path / "mine.toml").write_text('extends = "mine.toml"\ncosts = "costs.json"\n')
    options = ["-t", f"{tmp_path}/mine.toml", "--set", f"x={tmp_path}/x.npy", "--plugin", f"{tmp_path}/mine.py"]
    words = ["compile", str(DIGITS), *options, "--data", f"{tmp_path}/data", "-o", "out"]
    read = files_read(parser("compile").parse_args(words))
    own = {*tmp_path.rglob("*"), DIGITS}
    assert {path for path in read if not path.is_relative_to(Path(mote.__file__).parent)} == own
    write_depfile(str(tmp_path / "d"), tmp_path / "out.c", read)
    rule = (tmp_path / "d").read_text()
    assert rule.startswith(f"{tmp_path}/out.c: \\\n") and r"/data/1/a\ b\#$$.png" in rule
