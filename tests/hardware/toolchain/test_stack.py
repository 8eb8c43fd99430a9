"""The worst-case stack: of frames that are known, against the compiler's own numbers, and against what runs take."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.bench.measure.run import stacks
from mote.bench.measure.runner import bench
from mote.compiler.line import compile
from mote.hardware import targets, toolchain
from mote.hardware.targets import Target
from mote.hardware.toolchain import Compiler, Frame, Mode, worst_stack
from mote.hardware.toolchain.machine_code import read_code
from mote.hardware.toolchain.stack import _Walk
from tests.hardware.toolchain import fake_model as fake
from tests.hardware.toolchain.fake_builds import CASES, CORES, QUICK, compiler_for, emulator_for
from tests.helpers.support import soaked

MODELS = Path(__file__).parents[3] / "models"
ARM = [core for core in CORES if core != "rv32imc"]
ALL = [*CASES, ("cortex-m55", "zig")]

PORTS = """
#include "fake.h"
int8_t fake_bytes[16];
float fake_floats[4], fake_exp[4];
int32_t fake_quotients[16];
"""
# 32 bytes, the last word of them written; the others are `middle`, which calls it.
LEAF = {
    "arm": "leaf: push {r4-r7, lr}\\n sub sp, #12\\n str r0, [sp]\\n add sp, #12\\n pop {r4-r7, pc}\\n",
    "riscv": "leaf: addi sp, sp, -32\\n sw a0, 0(sp)\\n addi sp, sp, 32\\n ret\\n",
}
CALLS = {
    "arm": "middle: push {r3-r5, lr}\\n bl leaf\\n pop {r3-r5, pc}\\n",
    "riscv": "middle: addi sp, sp, -16\\n sw ra, 12(sp)\\n call leaf\\n lw ra, 12(sp)\\n addi sp, sp, 16\\n ret\\n",
}
JUMPS = {
    "arm": "middle: push {r4, r5}\\n pop {r4, r5}\\n b leaf\\n",
    "riscv": "middle: addi sp, sp, -16\\n addi sp, sp, 16\\n tail leaf\\n",
}
CONDITIONAL = {
    "arm": "middle: push {r4, lr}\\n cmp r0, #0\\n ittee eq\\n addeq sp, #4\\n popeq {pc}\\n"
    "subne sp, #8\\n addne sp, #8\\n bl leaf\\n pop {r4, pc}\\n"
}


def assembly(arch: str, *functions: str) -> str:
    """Functions that the compiler knows only by name."""
    text = '__asm__(".text\\n%s");\n' % (".syntax unified\\n" if arch == "arm" else "")
    for function in functions:
        name = function.partition(":")[0]
        kind = ".thumb_func\\n.type %s, %%function" if arch == "arm" else ".type %s, @function"
        head = f".balign 4\\n.global {name}\\n{kind % name}\\n"
        text += f'__asm__("{head}{function}.size {name}, . - {name}\\n");\nint {name}(int);\n'
    return text


def link(folder: Path, target: Target, compiler: Compiler, text: str, optimize: str = "balanced", *flags: str) -> Path:
    project, sources, glue = fake.write(folder, PORTS + text)
    return toolchain.build(
        project, sources, glue, target, compiler, mode=Mode.MEASURE, optimize=optimize, workdir=folder / optimize,
        extra_flags=flags,
    )  # fmt: skip


def measured(folder: Path, target: Target, elf: Path) -> tuple[int, int]:
    found = toolchain.execute(elf, target, emulator_for(target), fake.INPUTS[:1], workdir=folder, mode=Mode.MEASURE)
    assert found.stack is not None
    return stacks(elf, found.stack)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("core", "kind"), soaked(ALL, QUICK))
def test_known_frames_are_exact(tmp_path: Path, core: str, kind: str) -> None:
    target = targets.load(core)
    run = "int fake_run(void) { return middle(1) * 0 + (fake_bytes[0] = 0); }"
    for middle, frame in ((CALLS, 16), (JUMPS, 0)):
        text = assembly(target.arch, LEAF[target.arch], middle[target.arch]) + run
        elf = link(tmp_path, target, compiler_for(target, kind), text)
        found = worst_stack(elf, "fake_run")
        assert found.chain[-2:] == (Frame("middle", frame), Frame("leaf", 32))
        assert found.size == sum(f.size for f in found.chain) == found.chain[0].size + frame + 32
        assert measured(tmp_path, target, elf) == (found.size, found.size)
        assert worst_stack(elf, "leaf", "middle").size == frame + 32
        assert worst_stack(elf, "harness_run").size >= found.size


@pytest.mark.parametrize("core", [core for core in ARM if "armv6m" not in targets.load(core).features])
def test_conditional_instructions(tmp_path: Path, core: str) -> None:
    target = targets.load(core)
    text = assembly("arm", LEAF["arm"], CONDITIONAL["arm"]) + "int fake_run(void) { return middle(1) * 0; }"
    elf = link(tmp_path, target, compiler_for(target), text)
    assert worst_stack(elf, "middle").chain == (Frame("middle", 8), Frame("leaf", 32))


@pytest.mark.parametrize("core", ("cortex-m4", "cortex-m0plus"))
def test_products_of_doubles(tmp_path: Path, core: str) -> None:
    """libgcc's function for Armv7-M calls a part of itself, which returns while its caller's registers are stacked."""
    target = targets.load(core)
    real = "(double)fake_floats[1] * (double)fake_floats[2] + (double)fake_floats[3]"
    text = PORTS + f"int fake_run(void) {{ fake_floats[0] = (float)({real}); return 0; }}"
    elf = link(tmp_path, target, compiler_for(target), text)
    assert worst_stack(elf, "fake_run").size >= 16


SWITCH = """
static __attribute__((noinline)) int deep(int n) { volatile int a[40]; a[0] = n; a[n & 7] = 1; return a[0]; }
static __attribute__((noinline)) int deeper(int n) { volatile int a[60]; a[0] = n; a[n & 7] = 1; return a[0]; }
static __attribute__((noinline)) int step(int n) {
    switch (n) {
    case 0: return deep(3) + 1;
    case 1: return fake_bytes[3] * 7;
    case 2: fake_bytes[2] = 9; return deep(n) * 2;
    case 3: return fake_bytes[4] / 3;
    case 4: return deeper(fake_bytes[0]) + 3;
    case 5: return fake_bytes[7] - fake_bytes[8];
    case 6: fake_bytes[5] = fake_bytes[6]; return deep(5) - 1;
    case 7: return deep(9) ^ 5;
    default: return 0;
    }
}
int fake_run(void) { int sum = 0; for (int i = 0; i < 9; i++) sum += step(i); fake_quotients[0] = sum; return 0; }
"""


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("core", "kind", "optimize"),
    [*((*each, "balanced") for each in ALL), *((*each, "size") for each in ALL if each[1] == "gcc")],
)
def test_every_case_of_a_switch_is_reached(tmp_path: Path, core: str, kind: str, optimize: str) -> None:
    target = targets.load(core)
    elf = link(tmp_path, target, compiler_for(target, kind), SWITCH, optimize)
    found = worst_stack(elf, "fake_run")
    assert [f.function for f in found.chain] == ["fake_run", "step", "deeper"]
    assert 240 <= found.chain[-1].size <= 256
    worst, took = measured(tmp_path, target, elf)
    assert worst == found.size and worst - 8 <= took <= worst


LARGE = """
#define FRAME(n) int frame_##n(int x); __attribute__((noinline)) int frame_##n(int x) { \\
    volatile int a[n]; a[0] = x; a[x & 3] = 1; return a[0]; }
FRAME(4) FRAME(100) FRAME(130) FRAME(300) FRAME(700) FRAME(1100) FRAME(5000)
#define CALL(n) fake_quotients[n % 16] = frame_##n(fake_bytes[n % 16])
int fake_run(void) { CALL(4); CALL(100); CALL(130); CALL(300); CALL(700); CALL(1100); CALL(5000); return 0; }
"""


@pytest.mark.slow
@pytest.mark.parametrize(("core", "kind"), ALL)
def test_frames_of_any_size(tmp_path: Path, core: str, kind: str) -> None:
    """Those too large for an immediate are made with registers."""
    target = targets.load(core)
    elf = link(tmp_path, target, compiler_for(target, kind), LARGE)
    for words in (4, 100, 130, 300, 700, 1100, 5000):
        assert 4 * words <= worst_stack(elf, f"frame_{words}").size <= 4 * words + 64
    worst, took = measured(tmp_path, target, elf)
    assert worst - 16 <= took <= worst


REFUSED = {
    "recursion": (
        "int f(int); __attribute__((noinline)) int f(int n) "
        "{ volatile int a = n; fake_bytes[n] = (int8_t)(n ? f(n - 1) + f(n - a) : a); return a; }",
        "'f' needs is not known: it calls itself",
    ),
    "mutual recursion": (
        "int g(int); int f(int); __attribute__((noinline)) int g(int n) { return n ? f(n - 1) * 3 : 1; }"
        "__attribute__((noinline)) int f(int n) { return n ? g(n - fake_bytes[n]) * 5 : 2; }",
        "'[fg]' needs is not known: it calls itself",
    ),
    "pointer": (
        "typedef int (*fn)(int); volatile fn pointer; int f(int); "
        "__attribute__((noinline)) int f(int n) { return pointer(n) + 1; }",
        "'f' needs is not known: it calls through a pointer",
    ),
    "tail call of a pointer": (
        "typedef int (*fn)(int); volatile fn pointer; int f(int); "
        "__attribute__((noinline)) int f(int n) { return pointer(n); }",
        "'f' needs is not known: it calls through a pointer",
    ),
    "alloca": (
        "void g(char *); __attribute__((noinline)) void g(char *p) { p[0] = fake_bytes[0]; } int f(int); "
        "__attribute__((noinline)) int f(int n) { char a[n]; g(a); return a[0]; }",
        "'f' needs is not known: it moves the stack pointer",
    ),
}


@pytest.mark.quick_cases(5)
@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize(("core", "kind"), soaked(ALL, QUICK))
def test_what_has_no_bound_is_refused(tmp_path: Path, core: str, kind: str, what: str) -> None:
    target = targets.load(core)
    function, says = REFUSED[what]
    text = f"{function}\nint fake_run(void) {{ fake_quotients[0] = f(fake_bytes[1]); return 0; }}"
    elf = link(tmp_path, target, compiler_for(target, kind), text)
    with pytest.raises(MoteError, match=says):
        worst_stack(elf, "fake_run")


def test_errors(tmp_path: Path) -> None:
    target = targets.load("cortex-m4")
    elf = link(tmp_path, target, compiler_for(target), "int fake_run(void) { return 0; }")
    with pytest.raises(MoteError, match="has no function 'absent'"):
        worst_stack(elf, "fake_run", "absent")
    with pytest.raises(MoteError, match="bug of Mote"):
        stacks(elf, 1000)


@cache
def model(name: str) -> Path | bytes:
    if (MODELS / f"{name}.tflite").exists():
        return MODELS / f"{name}.tflite"
    import mlperf_tiny

    return mlperf_tiny.build(name.removesuffix("-float"), dtype="float32" if name.endswith("-float") else "int8")


DIGITS = [("digits", core, kind) for core, kind in ALL]
LARGER = [("keywords", core, "gcc") for core in CORES]
LARGER += [
    (name, core, "gcc") for name in ("ad", "sww", "ad-float") for core in ("cortex-m0plus", "cortex-m4", "rv32imc")
]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("name", "core", "kind"), soaked(DIGITS + LARGER, [*DIGITS[::2], ("sww", "cortex-m4", "gcc")]))
def test_models_take_what_they_can_take(tmp_path: Path, name: str, core: str, kind: str) -> None:
    """Up to 16 bytes: what the last function of the chain reserves at the end of its frame and never writes. On cores
    with DSP instructions up to a frame more: that of a path which images this narrow do not take."""
    target = targets.load(core)
    compiler_for(target, kind), emulator_for(target)
    compiled = compile(model(name), target=core)
    on = bench(compiled, tmp_path, compiler=kind)
    graph = compiled.plan.graph
    zeros = [[bytes(graph.tensors[t].nbytes) for t in graph.inputs]]
    found = on.execute(Mode.MEASURE, zeros)
    assert found.stack is not None
    worst, took = stacks(tmp_path / Mode.MEASURE / "model.elf", found.stack)
    assert worst - (96 if "dsp" in target.features else 16) <= took <= worst


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", CORES)
def test_frames_are_those_that_gcc_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, core: str) -> None:
    """Of every function in C. Of those in assembly gcc says 0, and less than it is of those that are partly in assembly
    which comes from the compiler. It says so only where it compiles: nothing is cached."""
    monkeypatch.setattr("mote.hardware.toolchain.cache.FOLDER", tmp_path / "cache")
    target = targets.load(core)
    compiler = compiler_for(target, "gcc")
    compiled = compile(MODELS / "digits.tflite", target=core)
    project = tmp_path / "project"
    compiled.write(project)
    text = "".join((project / source).read_text() for source in compiled.project.sources)
    text += "int fake_run(void) { return (int)digits_run(); }"
    elf = link(tmp_path, target, compiler, text, "balanced", f"-I{project}", "-fstack-usage")
    reported = re.findall(r":([^:\s]+)\t(\d+)\tstatic", (elf.parent / "model_0_fake.su").read_text())
    code = read_code(elf)
    partly = tuple(re.findall(r"MOTE_\w+_CODE\((\w+),", text))
    checked = 0
    for name, size in reported:
        if int(size) and name in code.functions:
            walk = _Walk(code)
            walk.walk(code.functions[name])
            found = max(walk.depths.values())
            assert (name, found) == (name, int(size)) or (name.endswith(partly) and found > int(size))
            checked += 1
    assert checked >= 2
