"""Layers in RISC-V's vectors: their portable definitions under the sanitizers, and on the emulated core."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.bench.measure.profiler.instructions import disassemble
from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import Refusal, View
from mote.compiler.kernels.rvv.layers import stream
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.hardware import targets
from mote.hardware.cores.instructions import ControlKind, Task
from mote.hardware.cores.riscv.decode import decode
from mote.hardware.toolchain.emulators import find_emulator
from mote.hardware.toolchain.machine_code import read_code
from tests.compiler.kernels.c_harness import Case, Program, check_cases
from tests.compiler.kernels.test_four_pixels import layer
from tests.helpers.offered import offered
from tests.helpers.support import emulated, examples, needs
from tests.ir.ops.windows import test_conv

CORE = "rv32imc_zve32x"
FEATURES = frozenset({"zve32x"})
KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
FAMILIES = ("conv16", "pointwise16", "fully_connected16", "depthwise16")


def cases(configs: Sequence[test_conv.Config]) -> list[Case]:
    graphs = [tflite.parse(test_conv.model([c]), "model") for c in configs]
    return [
        Case(g, g.ops[0], kernel, i)
        for i, g in enumerate(graphs)
        for kernel in offered(g, g.ops[0], FEATURES)
        if kernel.family in FAMILIES
    ]


def on(core: str) -> Program:
    return Program(core if core == "host" else emulated(core))


def depthwise(size: tuple[int, int], channels: int, **more: object) -> test_conv.Config:
    return replace(layer(size, channels, 1), kind="DEPTHWISE_CONV_2D", **more)  # type: ignore[arg-type]


def dense(inputs: int, outputs: int, **more: object) -> test_conv.Config:
    how = {"kind": "FULLY_CONNECTED", "per_channel": False, **more}
    return replace(layer((1, 1), inputs, outputs), **how)  # type: ignore[arg-type]


SHAPES = [
    layer((3, 8), 4, 2), layer((5, 5), 64, 16), layer((2, 12), 40, 35, activation="NONE"), layer((2, 6), 37, 17),
    layer((1, 9), 16, 10, batch=2), layer((3, 20), 8, 33, gain=0.1), layer((1, 1), 9, 40), layer((1, 3), 1, 1),
    layer((9, 16), 3, 7, kernel=(3, 3), stride=(2, 2)), layer((9, 10), 1, 20, kernel=(10, 4), stride=(2, 2)),
    layer((5, 7), 8, 31, kernel=(3, 3), activation="NONE"), layer((5, 11), 2, 2, kernel=(2, 5), padding="VALID"),
    layer((7, 9), 12, 18, stride=(2, 2)), layer((6, 5), 8, 2, kernel=(3, 2), dilation=(2, 3)),
    layer((3, 3), 20, 16, weights="ends"), layer((2, 5), 6, 3, activation="RELU6"),
    depthwise((5, 5), 16, kernel=(3, 3)), depthwise((6, 9), 37, kernel=(3, 3), stride=(2, 2)),
    depthwise((6, 7), 5, kernel=(5, 2), padding="VALID"), depthwise((7, 6), 20, kernel=(3, 3), dilation=(2, 2)),
    depthwise((3, 2), 64, kernel=(3, 3), activation="NONE", batch=2), depthwise((2, 1), 16, weights="ends"),
    dense(64, 16), dense(13, 11), dense(33, 50, activation="NONE", batch=5), dense(3, 1),
]  # fmt: skip


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", ["host", CORE])
def test_shapes(core: str) -> None:
    chosen = cases(SHAPES)
    assert len(chosen) == len(SHAPES)
    check_cases(chosen, on(core))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", ["host", CORE])
@given(st.lists(st.one_of(*map(test_conv.configs, KINDS)), min_size=6, max_size=6))
@settings(max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck))
def test_any_layer(core: str, configs: list[test_conv.Config]) -> None:
    check_cases(cases([replace(c, dtype="int8", bias=True) for c in configs]), on(core))


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (layer((4, 4), 8, 3, gain=1e-4), "a channel's sums are scaled up, or by less than 2^-31"),
        (depthwise((4, 4), 3, outputs=2), "a channel has several outputs"),
    ],
    ids=["scale", "multiplier"],
)
def test_refusals(config: test_conv.Config, why: str) -> None:
    g = tflite.parse(test_conv.model([config]), "model")
    assert why in [r.why for _, r in catalogue.attempts(View(g, (g.ops[0],)), FEATURES) if isinstance(r, Refusal)]


def test_weights_are_in_blocks_of_sixteen_channels() -> None:
    weights = np.arange(2 * 19, dtype=np.int64).reshape(2, 19)
    assert stream(weights).tolist() == [*range(16), *range(19, 35), 16, 17, 18, 35, 36, 37]


def test_the_planner_takes_them_and_c_asks_for_the_instructions() -> None:
    compiled = compile(test_conv.model([layer((5, 5), 32, 32)]), target=CORE)
    assert compiled.plan.steps[0].kernel.family == "pointwise16"
    assert "!defined(__riscv_v_min_vlen)" in next(t for n, t in compiled.project.files.items() if n.endswith("model.c"))


def test_unicorn_is_not_offered() -> None:
    with pytest.raises(MoteError, match="unicorn does not know"):
        find_emulator(targets.load(CORE), "unicorn")


@pytest.mark.parametrize(
    ("instruction", "known"),
    [
        ("vadd.vv v2, v2, v4", True),  # no write to x2, the stack pointer
        ("vle8.v v2, (a0)", True),
        ("vmv.x.s a5, v2", False),
        ("vsetvli a5, a2, e8, m1, ta, ma", False),
    ],
)
def test_what_vectors_do_to_integer_registers(tmp_path: Path, instruction: str, known: bool) -> None:
    """A value that is known stays so unless the register is written."""
    needs("riscv64-unknown-elf-gcc")
    source, elf = tmp_path / "x.s", tmp_path / "x.o"
    source.write_text(instruction + "\n")
    subprocess.run(
        ["riscv64-unknown-elf-gcc", *targets.load(CORE).gcc_flags, "-c", str(source), "-o", str(elf)], check=True
    )
    code = read_code(elf)
    decoded = decode(code.word, 0, {15: 7})
    assert decoded.kind is ControlKind.PLAIN and decoded.grows == 0 and (15 in decoded.known) == known
    tasks = {True: (Task.VECTOR, Task.VECTOR_MEMORY), False: (Task.VECTOR, Task.ALU)}[known]
    assert disassemble(code, [(0, 4)])[0][0].task in tasks
