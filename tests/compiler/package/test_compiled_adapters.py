"""`mote compile --adapter`: compiled models in threads of small operating systems (tests/compiler/emit/image/rtos), and
in the turns of a main loop. The results are those of the reference."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mote.base.errors import MoteError
from mote.bench.execute.stimuli import stimuli
from mote.bench.measure.runner import bench
from mote.compiler.compiled import Compiled
from mote.compiler.firmware import firmware
from mote.compiler.line import compile
from mote.compiler.package import zephyr
from mote.compiler.package.adapters import COMPILED_NAMES, compiled_adapter_files
from mote.compiler.package.adapters.compiled_model import BESIDE, AdaptedModel, model_adapter_files, stack_bytes
from mote.compiler.package.libraries import esp_idf
from mote.hardware.toolchain import Mode
from mote.ir.graph.tensor import Array
from mote.ui.cli import main
from tests.compiler.emit.c.test_instances import outputs, small
from tests.compiler.emit.c.test_project import compiler_or_skip, run
from tests.compiler.emit.image.test_adapters import RACES, RTOS, SANITIZE, STRICT, SYSTEMS, THREADS, passes
from tests.helpers.support import emulated, needs, soaked

PROGRAMS = Path(__file__).with_name("compiled_adapters")
"""Programs in C that try an adapter: each with the cases of a model in `cases.h`."""
COUNT = 6
FORMS: dict[str, dict[str, Any]] = {
    "whole": {},
    "instances": {"instances": True},
    "pushed": {"input": "rows", "instances": True},
}


def compiled_as(form: str, **options: Any) -> Compiled:
    return compile(small(), name="net", least_ram=True, **FORMS[form], **options)


def adapted(compiled: Compiled, name: str, stack: int | None = None) -> dict[str, str]:
    return model_adapter_files(name, [AdaptedModel(compiled.plan, compiled.project.options, stack)])


def table(name: str, values: Array) -> str:
    rows = ", ".join("{" + ", ".join(map(str, row.reshape(-1))) + "}" for row in values)
    return f"static const int8_t {name}[{len(values)}][{values[0].size}] = {{{rows}}};\n"


def cases(compiled: Compiled) -> str:
    """Inputs and the reference's outputs as C."""
    graph = compiled.plan.graph
    given = list(stimuli(graph, COUNT))
    wanted = [values[0] for values in outputs(graph, given)]
    assert any(np.any(value != wanted[0]) for value in wanted)
    instance = "#define INSTANCE(i) NULL\n#define SEVERAL 0\n"
    if compiled.settings.instances:
        instance = "#define INSTANCE(i) &instances[i]\n#define SEVERAL 1\nstatic net_t instances[2];\n"
    steps = len(compiled.plan.steps)
    head = f"#define COUNT {COUNT}\n#define STEPS {steps}\n#define PUSHED {int(compiled.plan.pushed)}\n"
    return (
        '#include "net_service.h"\n'
        + head
        + instance
        + table("given", np.stack([case[graph.inputs[0]] for case in given]))
        + table("wanted", np.stack(wanted))
    )


def build(program: str, compiled: Compiled, name: str, folder: Path, *more: str, cc: str = "cc") -> Path:
    """A program of PROGRAMS with a model and its adapter."""
    needs(cc)
    compiled.write(folder)
    files = adapted(compiled, name)
    for file, content in files.items():
        (folder / file).write_text(content)
    (folder / "cases.h").write_text(cases(compiled))
    sources = [str(PROGRAMS / program), "net.c", *(file for file in files if file.endswith(".c"))]
    system = [] if name == "bare-metal" else [str(RTOS / "test_threads.c")]
    run([cc, *STRICT, *more, "-I.", "-isystem", str(RTOS), *sources, *system, "-lpthread", "-o", "program"], folder)
    return folder / "program"


CASES = [(name, form) for name in SYSTEMS for form in FORMS]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("name", "form"), soaked(CASES, [("freertos", "instances"), ("zephyr", "pushed")]))
def test_a_model_in_a_thread(name: str, form: str, tmp_path: Path) -> None:
    passes(build("service.c", compiled_as(form), name, tmp_path, *SANITIZE))


@pytest.mark.slow
def test_threads_do_not_race(tmp_path: Path) -> None:
    program = build("service.c", compiled_as("instances"), "freertos", tmp_path, *THREADS, cc="clang")
    (tmp_path / "races").write_text(f"{RACES}race:alive\nrace:test_all\n")
    passes(program, TSAN_OPTIONS=f"suppressions={tmp_path / 'races'}")


@pytest.mark.parametrize("form", soaked(FORMS, ["pushed"]))
def test_a_model_in_a_main_loop(form: str, tmp_path: Path) -> None:
    passes(build("turns.c", compiled_as(form), "bare-metal", tmp_path, *SANITIZE))


@pytest.mark.slow
def test_a_main_loop_on_cortex_m4(tmp_path: Path) -> None:
    emulated("cortex-m4")
    compiled = compiled_as("whole", target="cortex-m4")
    files = adapted(compiled, "bare-metal")
    usual, harness = firmware(compiled), (PROGRAMS / "turns_harness.c").read_text()
    own = replace(
        usual,
        files={**usual.files, **files},
        sources=[*usual.sources, *(file for file in files if file.endswith(".c"))],
        glue=lambda mode: harness.replace("WORKS", str(len(compiled.plan.works))),
    )
    graph = compiled.plan.graph
    given = list(stimuli(graph, 3))
    raw = [[case[graph.inputs[0]].tobytes()] for case in given]
    printed = bench(own, tmp_path).execute(Mode.MEASURE, raw).outputs
    assert printed == [[values[0].tobytes()] for values in outputs(graph, given)]


SIZES = {"mote_service.c": 1600, "mote_turns.c": 700}
"""Bytes of code on a Cortex-M4 that docs/deploy/adapters.md states."""


@pytest.mark.parametrize("name", soaked(COMPILED_NAMES, ["bare-metal", "zephyr"]))
def test_cross_compiles_as_c_and_cpp(name: str, tmp_path: Path) -> None:
    """Without the ports, which need headers of their operating systems."""
    compiled = compiled_as("pushed", target="cortex-m4")
    files = adapted(compiled, name)
    compiled.write(tmp_path)
    for file, content in files.items():
        (tmp_path / file).write_text(content)
    (tmp_path / "mote_port.h").write_text("typedef struct { int object; } mote_port_t;\n")
    flags = ["-mcpu=cortex-m4", "-Os", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-I.", "-c"]
    for file in (f for f in files if f.endswith(".c") and f != "mote_port.c"):
        run([compiler_or_skip("arm-none-eabi-g++"), *flags, "-std=c++11", "-xc++", file, "-o", "cpp.o"], tmp_path)
        run([compiler_or_skip("arm-none-eabi-gcc"), *flags, "-std=c99", file, "-o", "c.o"], tmp_path)
        code = int(run(["arm-none-eabi-size", "c.o"], tmp_path).splitlines()[1].split()[0])
        assert abs(code - SIZES.get(file, code)) < 60


@pytest.mark.slow
def test_the_command_writes_an_adapter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    emulated("cortex-m4")
    model, out = tmp_path / "net.tflite", tmp_path / "out"
    model.write_bytes(small())
    assert main(("compile", str(model), "-t", "cortex-m4", "--adapter", "freertos", "-o", str(out), "--json")) == 0
    told = json.loads(capsys.readouterr().out)["adapter"]
    assert all((out / file).exists() for file in told["files"]) and "net_service.c" in told["files"]
    (stated,) = re.findall(r"#define MOTE_SERVICE_STACK_BYTES (\d+)", (out / "mote_serviced.h").read_text())
    assert 0 < told["stack"]["net"] <= int(stated) - BESIDE
    assert subprocess.run(["make", "-n"], cwd=out, capture_output=True, check=True)
    options = ("-t", "cortex-m4", "--caller-arena", "--adapter", "zephyr")
    assert main(("compile", str(model), *options, "-o", str(tmp_path / "none"))) == 1
    assert "omit --caller-arena" in capsys.readouterr().err and not (tmp_path / "none").exists()


def test_zephyr_builds_the_service(tmp_path: Path) -> None:
    compiled = compiled_as("whole")
    written = zephyr.files(compiled.package.with_files(adapted(compiled, "zephyr", stack=700)))
    cmake, kconfig = str(written["zephyr/CMakeLists.txt"]), str(written["zephyr/Kconfig"])
    built = re.search(r"if\(CONFIG_MOTE_SERVICE\)\n.*?endif\(\)", cmake, re.DOTALL)
    assert built is not None
    assert {"net_service.c", "mote_port.c", "mote_service.c"} <= set(re.findall(r"/(\w+\.c)\b", built[0]))
    stack = stack_bytes([AdaptedModel(compiled.plan, compiled.project.options, 700)])
    assert re.search(rf"config MOTE_SERVICE_STACK_SIZE\n.*\n\tdefault {stack}\n", kconfig)


def test_esp_idf_builds_the_service(tmp_path: Path) -> None:
    """With the headers of FreeRTOS where ESP-IDF has them; a C++ class lies beside the other headers."""
    compiled = compile(small(), name="net", cpp=True)
    written = esp_idf.files(compiled.package.with_files(adapted(compiled, "freertos")))
    listed = re.findall(r'"(src/\w+\.c)"', str(written["CMakeLists.txt"]))
    assert set(listed) == {f"src/{name}.c" for name in ("net", "net_service", "mote_service", "mote_port")}
    assert written.keys() >= {*listed, "src/net.hpp", "src/mote_port.h"}
    for path, text in written.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(str(text))
    (tmp_path / "freertos").mkdir()
    for name in ("FreeRTOS", "queue", "semphr", "task"):
        (tmp_path / "freertos" / f"{name}.h").write_text(f'#include "{RTOS / name}.h"\n')
    flags = [*STRICT, "-DESP_PLATFORM", "-isystem", str(tmp_path), "-fsyntax-only"]
    run([compiler_or_skip("gcc"), *flags, *listed], tmp_path)
    assert "REQUIRES freertos" in str(written["CMakeLists.txt"])
    assert "src/mote_port.c" not in esp_idf.files(compiled.package)


def test_stacks_and_names() -> None:
    compiled = compiled_as("whole")
    known = [AdaptedModel(compiled.plan, compiled.project.options, n) for n in (100, 700)]
    assert stack_bytes(known) >= 700 + BESIDE and stack_bytes(known) % 64 == 0
    unknown = [*known, replace(known[0], stack=None)]
    assert stack_bytes(unknown) == 4096
    assert "not measured" in model_adapter_files("freertos", unknown)["mote_serviced.h"]
    with pytest.raises(MoteError, match="did you mean: freertos"):
        compiled_adapter_files("freertoss")
    shared = replace(known[0], options=replace(compiled.project.options, shared_arena=True))
    with pytest.raises(MoteError, match="cannot share its arena"):
        model_adapter_files("zephyr", [shared])
