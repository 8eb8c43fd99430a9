"""The generated folder: builds alone, everywhere, without a warning, and is the same every time."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from mote.frontends.tflite.writer import Writer
from mote.hardware.targets.flags import OPTIMIZATION
from mote.hardware.toolchain import Compiler, Mode, builder
from tests.helpers.network import Net
from tests.helpers.support import soaked

MODELS = Path(__file__).parents[4] / "models"
DIGITS, KEYWORDS = MODELS / "digits.tflite", MODELS / "keywords.tflite"
FLAGS = ["-std=c99", "-I.", "-O2", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
OUTPUTS_ONLY = "(outputs only: the model was compiled without MOTE_SELFTEST)"
FORMS = {
    "folder": {},
    "single file": {"single_file": True},
    "caller arena": {"caller_arena": True},
    "single file, caller arena": {"single_file": True, "caller_arena": True},
}


def run(command: list[str], cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def compiler_or_skip(name: str) -> str:
    return shutil.which(name) or pytest.skip(f"{name} is not installed")


BUILDS = [(model, form, cc) for form in FORMS for model in ("digits", "keywords") for cc in ("gcc", "clang")]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("model", "form", "cc"), soaked(BUILDS, [*BUILDS[::4], *BUILDS[3::4]]))
def test_builds_without_warnings_and_passes_its_selftest(model: str, form: str, cc: str, tmp_path: Path) -> None:
    compiler_or_skip(cc)
    compiled = compile(MODELS / f"{model}.tflite", target="cortex-m4", **FORMS[form])
    compiled.write(tmp_path)
    name = compiled.name
    for main in (["example/main.c"], ["selftest/selftest.c", "-DMOTE_SELFTEST"]):
        run([cc, *FLAGS, *main, f"{name}.c", "-o", "program", "-lm"], tmp_path)
        printed = run(["./program"], tmp_path)
    assert printed == f"{name}: ok\n"


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    "cc",
    [
        "arm-none-eabi-gcc -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16",
        "arm-none-eabi-gcc -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16 -O0",
        "arm-none-eabi-gcc -mcpu=cortex-m0plus -DMOTE_PORTABLE",
        "riscv64-unknown-elf-gcc -march=rv32imc -mabi=ilp32 --specs=picolibc.specs",
    ],
)
@pytest.mark.parametrize("model", [DIGITS, KEYWORDS], ids=lambda p: p.stem)
def test_cross_compiles_without_warnings(model: Path, cc: str, tmp_path: Path) -> None:
    command = cc.split()
    compiler_or_skip(command[0])
    compile(model, target="cortex-m4", optimize="speed").write(tmp_path)
    run([*command[:1], *FLAGS, *command[1:], "-c", f"{model.stem}.c", "-o", "model.o"], tmp_path)


def test_single_file_is_a_pair(tmp_path: Path) -> None:
    compile(DIGITS, single_file=True).write(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "CMakeLists.txt", "Makefile", "digits.c", "digits.h", "example", "mote.sha256", "selftest",
    ]  # fmt: skip
    assert '#include "mote_' not in (tmp_path / "digits.c").read_text()


def test_only_the_kernels_used_are_there(tmp_path: Path) -> None:
    compiled = compile(DIGITS)
    there = {f: text for f, text in compiled.project.files.items() if f.startswith("mote_")}
    included = {f for text in there.values() for f in re.findall(r'#include "(mote_\w+\.h)"', text)}
    by_rows = set() if compiled.plan.layered else {"mote_rows.h"}
    used = {file for step in compiled.plan.steps for file in step.kernel.files}
    assert there.keys() == included | by_rows | {"mote_crc.h"} | used
    assert "mote_layer_conv2d.h" not in there


def test_same_input_same_bytes() -> None:
    first, second = (compile(DIGITS, target="cortex-m4").project.files for _ in range(2))
    assert first == second


def test_make_and_cmake_build_it(tmp_path: Path) -> None:
    compiler_or_skip("cc")
    net = Net()
    model = net.finish(net.mean(net.conv(net.input(1, 6, 5, 3), 4)))
    compile(model, name="tiny").write(tmp_path / "a")
    assert "tiny: ok" in run([compiler_or_skip("make"), "test"], tmp_path / "a")
    cmake = compiler_or_skip("cmake")
    run([cmake, "-S", "a", "-B", "b"], tmp_path)
    run([cmake, "--build", "b"], tmp_path)
    assert "tiny: ok" in run(["b/selftest"], tmp_path)


def test_all_c_files_of_the_folder_compile_together(tmp_path: Path) -> None:
    """As in a flat `src/`: the firmware has the only `main`."""
    compiler_or_skip("gcc")
    compile(DIGITS).write(tmp_path)
    (tmp_path / "firmware.c").write_text('#include "digits.h"\nint main(void) { return (int)digits_init(); }\n')
    run(["gcc", *FLAGS, *sorted(p.name for p in tmp_path.glob("*.c")), "-o", "firmware"], tmp_path)
    run(["./firmware"], tmp_path)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("given", "level"),
    [
        ("-DCMAKE_C_FLAGS=-Os", "-Os"),
        ("-DCMAKE_BUILD_TYPE=MinSizeRel", "-Os"),
        ("-DCMAKE_BUILD_TYPE=Debug", ""),
        ("-DABOVE=-Os", "-Os"),
        ("", "-O2"),
    ],
)
def test_cmake_leaves_a_level_of_the_user_alone(given: str, level: str, tmp_path: Path) -> None:
    compiler_or_skip("gcc")
    compile(DIGITS).write(tmp_path / "model")
    above = "cmake_minimum_required(VERSION 3.13)\nproject(firmware C)\nadd_compile_options(${ABOVE})\n"
    (tmp_path / "CMakeLists.txt").write_text(f"{above}add_subdirectory(model)\n")
    run([compiler_or_skip("cmake"), "-S", ".", "-B", "b", "-DCMAKE_C_COMPILER=gcc", *given.split()], tmp_path)
    flags = next((tmp_path / "b").rglob("digits.dir/flags.make")).read_text().split()
    assert [flag for flag in flags if flag.startswith("-O")][-1:] == [level][: bool(level)]


USER_CMAKE = """\
cmake_minimum_required(VERSION 3.13)
project(firmware C)
add_subdirectory(model)
add_executable(firmware firmware.c)
target_link_libraries(firmware net)
"""


def test_a_user_links_a_float_model_by_its_target_alone(tmp_path: Path) -> None:
    """The library brings what it needs: SOFTMAX and LOGISTIC call expf."""
    compiler_or_skip("cc")
    cmake = compiler_or_skip("cmake")
    net = Net(dtype="float32")
    model = net.finish(net.op("SOFTMAX", [net.op("LOGISTIC", [net.input(1, 8)])], beta=1.0))
    compile(model, name="net").write(tmp_path / "model")
    (tmp_path / "CMakeLists.txt").write_text(USER_CMAKE)
    shutil.copy(tmp_path / "model" / "selftest" / "selftest.c", tmp_path / "firmware.c")
    run([cmake, "-S", ".", "-B", "b"], tmp_path)
    run([cmake, "--build", "b"], tmp_path)
    assert run(["b/firmware"], tmp_path) == f"net: ok {OUTPUTS_ONLY}\n"
    assert "-lm" not in "".join(compile(DIGITS).project.files.values())


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("optimize", OPTIMIZATION)
def test_build_files_carry_the_flags_of_the_measurement(
    optimize: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `make` and CMake call the compiler with has what a measured build has."""
    compiler_or_skip("cc")
    compiled = compile(DIGITS, target="cortex-m4", optimize=optimize)
    compiled.write(tmp_path / "a")
    called: list[str] = []
    monkeypatch.setattr(builder, "compile_or_raise", lambda command, *_: called.append(" ".join(command)))
    monkeypatch.setattr(builder.cache, "fetch", lambda key, output, make: make())
    gcc = Compiler("gcc", ("gcc",), "")
    how = {"mode": Mode.MEASURE, "optimize": optimize, "workdir": tmp_path}
    builder.build(
        tmp_path / "a", [tmp_path / "a/digits.c"], tmp_path / "a/example/main.c", compiled.settings.target, gcc, **how
    )
    measured = {flag for flag in called[0].split() if flag.startswith(("-O", "-fno-ipa"))}
    made = run([compiler_or_skip("make"), "-n", "CC=gcc", "selftest/selftest"], tmp_path / "a")
    run(
        [compiler_or_skip("cmake"), "-S", "a", "-B", "b", "-DCMAKE_C_COMPILER=gcc"],
        tmp_path,
    )
    flags = next((tmp_path / "b").rglob("digits.dir/flags.make")).read_text()
    assert measured and measured <= set(made.split())
    assert measured <= set(flags.split()) and flags.count(" -O") == 1
    for file in ("Makefile", "CMakeLists.txt"):
        assert " ".join(compiled.settings.target.gcc_flags) in compiled.project.files[file]


def test_two_models_link_into_one_cpp_firmware(tmp_path: Path) -> None:
    compiler_or_skip("g++")
    for model, form in ((DIGITS, {}), (KEYWORDS, {"caller_arena": True})):
        compile(model, **form).write(tmp_path / model.stem)
    (tmp_path / "firmware.cpp").write_text(
        '#include "digits/digits.h"\n#include "keywords/keywords.h"\n'
        "static uint64_t arena[(KEYWORDS_ARENA_BYTES + 7) / 8];\n"
        "int main() {\n"
        "  if (keywords_run() != MOTE_NOT_READY) return 1;\n"
        "  if (keywords_init(arena, 8) != MOTE_BAD_ARENA) return 2;\n"
        "  if (keywords_init(reinterpret_cast<char *>(arena) + 4, sizeof arena) != MOTE_BAD_ARENA) return 3;\n"
        "  if (keywords_init(arena, sizeof arena) != MOTE_OK || digits_init() != MOTE_OK) return 4;\n"
        "  for (int i = 0; i < DIGITS_INPUT_SIZE; i++) digits_input()[i] = 0;\n"
        "  return keywords_run() || digits_run();\n}\n"
    )
    for name in ("digits", "keywords"):
        run(["gcc", *FLAGS, "-O0", "-c", f"{name}/{name}.c"], tmp_path)
    run(
        ["g++", "-Wall", "-Wextra", "-Werror", "firmware.cpp", "digits.o", "keywords.o", "-o", "firmware"],
        tmp_path,
    )
    run(["./firmware"], tmp_path)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("digits", {}),
        ("digits_float", {}),
        ("keywords", {"stream": 1, "causal": True}),
        pytest.param("keywords_float", {}, marks=pytest.mark.slow),
    ],
)
def test_a_model_included_in_cpp_passes_its_selftest(model: str, options: dict[str, Any], tmp_path: Path) -> None:
    compiler_or_skip("g++")
    compile(MODELS / f"{model}.tflite", **options).write(tmp_path)
    (tmp_path / "model.cpp").write_text(f'extern "C" {{\n#include "{model}.c"\n}}\n')
    run(["g++", "-std=c++11", "-DMOTE_SELFTEST", "-c", "model.cpp"], tmp_path)
    run(["gcc", *FLAGS, "-DMOTE_SELFTEST", "-c", "selftest/selftest.c"], tmp_path)
    run(["g++", "model.o", "selftest.o", "-o", "program", "-lm"], tmp_path)
    assert run(["./program"], tmp_path) == f"{model}: ok\n"


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("model", "core", "compiler"),
    [
        ("digits", "cortex-m4", "arm-none-eabi-g++ -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16"),
        ("keywords_float", "cortex-m4", "arm-none-eabi-g++ -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16"),
        ("keywords", "cortex-m55", "arm-none-eabi-g++ -mcpu=cortex-m55 -mfloat-abi=hard"),
        ("digits", "host", "avr-g++ -mmcu=atmega2560"),
    ],
)
def test_a_model_included_in_cpp_cross_compiles(model: str, core: str, compiler: str, tmp_path: Path) -> None:
    command = compiler.split()
    compiler_or_skip(command[0])
    compile(MODELS / f"{model}.tflite", target=core, optimize="speed").write(tmp_path)
    (tmp_path / "model.cpp").write_text(f'#include "{model}.c"\n')
    run([*command, "-std=gnu++11", "-fsyntax-only", "model.cpp"], tmp_path)


def header(compiled: Compiled) -> str:
    return compiled.project.files[f"{compiled.name}.h"]


def test_names_of_other_files_are_avoided(tmp_path: Path) -> None:
    for name in ("main", "selftest", "mote_common", "3-a b"):
        shutil.copy(DIGITS, tmp_path / f"{name}.tflite")
        compiled = compile(tmp_path / f"{name}.tflite")
        assert {
            f"{compiled.name}.c",
            f"{compiled.name}.h",
            "example/main.c",
            "selftest/selftest.c",
        } <= compiled.project.files.keys()
        assert compiled.name not in ("main", "selftest", "mote_common")


def test_nothing_is_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_text

    def full_disk(self: Path, *args: object, **options: object) -> int:
        if self.name == "main.c":
            raise OSError(28, "No space left on device")
        return write(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "write_text", full_disk)
    with pytest.raises(MoteError, match="No space left"):
        compile(DIGITS).write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_header_is_a_manual() -> None:
    text = header(compile(DIGITS, target="cortex-m4"))
    for wanted in ("DIGITS_ARENA_BYTES", "DIGITS_INPUT_SCALE", "DIGITS_INPUT_ZERO_POINT", "DIGITS_OUTPUT_SIZE 10",
                   "memcpy(digits_input(), my_data, DIGITS_INPUT_BYTES);", "digits_run() == MOTE_OK"):  # fmt: skip
        assert wanted in text


def test_no_heap_and_no_libc_beyond_string_and_math() -> None:
    for model in (DIGITS, KEYWORDS):
        for name, text in compile(model).project.files.items():
            if name.startswith(("mote_", model.stem)):
                assert "malloc" not in text and "<stdio.h>" not in text


@pytest.mark.parametrize(("middle", "several"), [("int16", True), ("float32", False)])
def test_steps_on_several_types_in_one_memory_are_kept_apart(middle: str, several: bool) -> None:
    """C lets a compiler move an access of one type before one of another; only bytes may stand for everything."""
    w = Writer("types")
    x = w.input("x", (1, 64), "float32")
    q = w.tensor("q", (1, 64), middle, *((0.01, 0) if middle == "int16" else ()))
    y = w.tensor("y", (1, 64), "float32")
    kinds = ("QUANTIZE", "DEQUANTIZE") if middle == "int16" else ("TANH", "RELU")
    for kind, source, result in zip(kinds, (x, q), (q, y), strict=True):
        w.op(kind, [source], [result])
    w.output(y)
    compiled = compile(w.finish())
    assert ("MOTE_NEXT();" in compiled.project.files["model.c"]) == several
    assert verify(compiled, 3).passed
