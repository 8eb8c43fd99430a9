"""Mote's own float32 functions: how far they are from the true values, and that float32 models need no math library."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import math_errors
from mote.bench.evaluation.verify import verify
from mote.compiler.line import compile
from tests.helpers.network import Net
from tests.helpers.support import emulated, needs, needs_litert

CORES = {"cortex-m4": "arm-none-eabi-", "cortex-m0plus": "arm-none-eabi-", "rv32imc": "riscv64-unknown-elf-"}
FUNCTIONS = ("EXP", "LOG", "SIN", "COS", "SQRT", "RSQRT", "TANH", "LOGISTIC", "ELU", "CEIL", "FLOOR", "ROUND", "ABS")
STATE = ("_impure_ptr", "_impure_data", "errno", "__errno", "_REENT", "__libc_errno")


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("how", math_errors.BUILDS)
def test_functions_are_as_near_as_promised(how: str, tmp_path: Path) -> None:
    """All exponents, a few hundred significands each; `benchmarks/math_errors.py` tries all of them."""
    needs("gcc")
    if how == "fused" and not math_errors.fuses():
        pytest.skip("this processor does not fuse products and sums")
    found = math_errors.errors(math_errors.build(how, tmp_path), 30011, 7)
    assert found.keys() == math_errors.BOUNDS.keys()
    assert {name: error for name, error in found.items() if error > math_errors.BOUNDS[name]} == {}


def functions() -> bytes:
    """A layer with each function, of one input, and a softmax at the end."""
    net = Net(dtype="float32")
    x = net.input(1, 24)
    results = [net.op(kind, [x]) for kind in FUNCTIONS]
    return net.finish(*results, net.op("SOFTMAX", [x], beta=1.0), net.op("LOG_SOFTMAX", [x]))


def powers() -> bytes:
    net = Net(dtype="float32")
    x, y = net.input(1, 24), net.input(1, 24)
    return net.finish(*(net.op(kind, [x, y]) for kind in ("POW", "ATAN2", "FLOOR_MOD", "FLOOR_DIV")))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", CORES)
def test_a_float_model_links_no_math_library(core: str, tmp_path: Path) -> None:
    """Linked without one, and without what a C library keeps for its errors."""
    prefix = CORES[core]
    needs(f"{prefix}gcc")
    compiled = compile(functions(), name="net", target=core)
    assert "-lm" not in "".join(compiled.project.files.values())
    assert "math.h>" not in "".join(compiled.project.files.values())
    compiled.write(tmp_path)
    library = ["--specs=picolibc.specs"] if core == "rv32imc" else []
    flags = [*compiled.settings.target.gcc_flags, *library, "-Os", "-std=c99", "-nostartfiles", "-Wl,-e,net_run"]
    parts = ["-Wl,-u,net_init", "-nodefaultlibs", "net.c", "-lc", "-lgcc", "-o", "net.elf"]
    subprocess.run([f"{prefix}gcc", *flags, *parts], cwd=tmp_path, check=True)
    listed = subprocess.run([f"{prefix}nm", "net.elf"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    names = {line.split()[-1] for line in listed.splitlines()}
    assert "net_run" in names
    assert not names & {*STATE, "expf", "logf", "sqrtf", "tanhf", "sinf", "cosf", "floorf", "exp", "floor"}


@needs_litert
@pytest.mark.parametrize(
    ("core", "model"),
    [
        ("cortex-m4", functions()),
        ("cortex-m0plus", powers()),
        *((core, functions()) for core in ("cortex-m0plus", "cortex-m3", "rv32imc")),
    ],
)
def test_they_are_right_on_cores(core: str, model: bytes) -> None:
    assert verify(compile(model, target=emulated(core)), 2).passed
