"""Layers in the vectors of a computer: their portable definitions, and with each kind of vectors that this one has,
under the sanitizers; with those of another architecture in an emulator."""

from __future__ import annotations

import platform
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mote
from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import Refusal, View
from mote.frontends import tflite
from mote.hardware import targets
from mote.hardware.toolchain.compilers import find_compiler, native_flags
from tests.compiler.kernels.c_harness import Case, Computer, Program, check_cases
from tests.helpers.offered import offered
from tests.helpers.support import examples, needs, soaked
from tests.ir.ops.windows import test_conv

MANY = list(HealthCheck)
FEATURES = frozenset({"vectors"})
ON_X86 = platform.machine() in ("x86_64", "AMD64")
CROSS = "aarch64-linux-gnu-gcc", "-static"
NEON = Computer(("-O1",), CROSS, ("qemu-aarch64", "-cpu", "max"))
COMPUTERS = {
    "portable": Computer(("-DMOTE_PORTABLE",)),
    "own": Computer(("-O1", *native_flags(find_compiler(targets.load("host"))))),
    "sse4.1": Computer(("-O1", "-msse4.1")),
    "avx2": Computer(("-O1", "-mavx2")),
    "avx512": Computer(("-O1", "-mavx512f", "-mavx512bw")),
    "avxvnni": Computer(("-O1", "-mavx2", "-mavxvnni")),
    "avx512vnni": Computer(("-O1", "-mavx512f", "-mavx512bw", "-mavx512vnni")),
    "neon": NEON,
    "dotprod": replace(NEON, flags=("-O1", "-march=armv8.2-a+dotprod")),
}
"""-O0 copies vectors from place to place for minutes."""
NEEDED = {"sse4.1": "sse4_1", "avx2": "avx2", "avx512": "avx512bw", "avxvnni": "avx_vnni", "avx512vnni": "avx512_vnni"}
WINDOWS = [(1, 1), (3, 3), (3, 3), (1, 3), (10, 4), (3, 1), (5, 5), (2, 2), (7, 7)]


def computer(name: str) -> Computer:
    """One that this can be, or emulate."""
    if name in NEEDED:
        cpuinfo = Path("/proc/cpuinfo")
        if not ON_X86 or not cpuinfo.exists() or NEEDED[name] not in cpuinfo.read_text().split():
            pytest.skip(f"this computer has no {name}")
    elif COMPUTERS[name].compiler:
        needs(CROSS[0], "qemu-aarch64")
    return COMPUTERS[name]


def layer(rng: np.random.Generator, kernel: tuple[int, int], kind: str) -> test_conv.Config:
    """As networks have them, and some that they have not."""
    padding = "SAME" if rng.random() < 0.5 else "VALID"
    dilation = (int(rng.integers(1, 3)), int(rng.integers(1, 3))) if rng.random() < 0.2 else (1, 1)
    reach = [(k - 1) * d if padding == "VALID" else 0 for k, d in zip(kernel, dilation, strict=True)]
    size = [int(rng.integers(1, 14)) + more for more in reach]
    channels = int(rng.choice([1, 2, 3, 4, 7, 8, 12, 16, 17, 20, 32, 40]))
    zero = rng.choice([-128, -128, 127, int(rng.integers(-128, 128))])
    return test_conv.Config(
        kind=kind,
        dtype="int8",
        batch=int(rng.choice([1, 1, 2])),
        size=(size[0], size[1]),
        channels=channels,
        outputs=1 if kind == "DEPTHWISE_CONV_2D" else int(rng.choice([1, 2, 5, 8, 15, 16, 17, 22, 32, 36])),
        kernel=kernel,
        stride=(1, 1) if max(dilation) > 1 or rng.random() < 0.5 else (2, int(rng.choice([1, 2, 3]))),
        dilation=dilation,
        padding=padding,
        activation=str(rng.choice(["RELU", "RELU", "NONE", "RELU6", "RELU_N1_TO_1"])),
        per_channel=bool(rng.random() < 0.5) and kind != "FULLY_CONNECTED",
        bias=True,
        gain=float(rng.choice([0.1, 0.5, 1.0])),
        zeros=(int(rng.choice([-128, 7, 127])), int(zero)),
        seed=int(rng.integers(1 << 30)),
    )


def layers(seed: int) -> list[test_conv.Config]:
    rng = np.random.default_rng(seed)
    kinds = ("CONV_2D", "DEPTHWISE_CONV_2D")
    found = [layer(rng, window, kind) for kind in kinds for window in WINDOWS]
    pixels = [replace(layer(rng, (1, 1), "CONV_2D"), stride=(1, 1), dilation=(1, 1)) for _ in range(3)]
    return [*found, *pixels, *(layer(rng, (1, 1), "FULLY_CONNECTED") for _ in range(3))]


def cases(c: test_conv.Config) -> list[Case]:
    """A layer with each of its kernels for vectors."""
    g = tflite.parse(test_conv.model([c]), "layer")
    return [Case(g, g.ops[0], kernel, c.seed) for kernel in offered(g, g.ops[0], FEATURES) if kernel.isa == FEATURES]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", soaked(COMPUTERS, ("portable", "own")))
@given(st.integers(0, 1 << 30))
@settings(max_examples=examples(1, 1), deadline=None, suppress_health_check=MANY)
def test_random_layers(name: str, seed: int) -> None:
    on = computer(name)
    found = [case for c in layers(seed) for case in cases(c)]
    families = {"conv2d_vectors", "pointwise_vectors", "depthwise_vectors", "fully_connected_vectors"}
    assert {case.kernel.family for case in found} == families and len(found) > len(WINDOWS)
    check_cases(found, Program(computer=on))


PLAIN = test_conv.Config(
    "CONV_2D", "int8", 1, (9, 9), 16, 8, (3, 3), (1, 1), (1, 1), "SAME", "RELU", True, True, 1.0, (3, -128), 7
)


def refusals(c: test_conv.Config) -> dict[str, str]:
    g = tflite.parse(test_conv.model([c]), "layer")
    asked = catalogue.attempts(View(g, g.ops), FEATURES)
    return {kernel.name: answer.why for kernel, answer in asked if isinstance(answer, Refusal)}


def test_what_is_refused() -> None:
    large = "a channel's multiplier is too large to be rounded in lanes"
    shifted_left = replace(PLAIN, gain=1e-5, zeros=(3, 5), activation="NONE")
    assert refusals(shifted_left)["conv2d_vectors"] == large
    assert refusals(replace(shifted_left, kind="DEPTHWISE_CONV_2D", outputs=1))["depthwise_vectors"] == large
    assert refusals(PLAIN)["pointwise_vectors"] == "it is for windows of one pixel"
    several = replace(PLAIN, kind="DEPTHWISE_CONV_2D", channels=4)
    assert refusals(several)["depthwise_vectors"] == "inputs go into several output channels"


def test_names_are_of_vectors_alone() -> None:
    """A model has vectors and portable kernels in one file."""
    named = re.compile(r"^\s*#\s*define (\w+)|^\} (\w+_t);|^typedef .*?(\w+_t);", re.MULTILINE)
    folder = Path(mote.__file__).parent / "compiler" / "kernels"
    own, others = (
        {next(filter(None, found.groups())) for path in paths for found in named.finditer(path.read_text("utf-8"))}
        for paths in ((folder / "vectors").rglob("*.h"), (folder / "portable").rglob("*.h"))
    )
    assert own and others and not own & others
