"""CONV_2D on Helium: pointwise, of any window, and fully connected; whole and from rows in blocks of their own, under
the sanitizers and on an emulated Cortex-M55."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.bench.evaluation.verify import verify
from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import Packed, Refusal, View
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from tests.compiler.kernels.c_harness import Case, Program, check_cases
from tests.helpers.offered import offered
from tests.helpers.support import emulated, examples, needs_litert
from tests.ir.ops.windows import test_conv

MANY = list(HealthCheck)
FEATURES = frozenset({"dsp", "fpu", "mve"})
HOST, CORE = "host", "cortex-m55"
LAYERS = 12


HEADERS = ("gemm4_s8", "fully_connected8_s8")


def layers(seed: int, kernels: list[tuple[int, int]], kind: str = "CONV_2D") -> list[test_conv.Config]:
    """Convolutions as networks have them, and some that they have not."""
    rng = np.random.default_rng(seed)
    return [_layer(rng, kernels[i % len(kernels)], kind) for i in range(LAYERS)]


def _layer(rng: np.random.Generator, kernel: tuple[int, int], kind: str) -> test_conv.Config:
    padding = "SAME" if rng.random() < 0.5 else "VALID"
    dilation = (int(rng.integers(1, 3)), int(rng.integers(1, 3))) if rng.random() < 0.2 else (1, 1)
    reach = [(k - 1) * d if padding == "VALID" else 0 for k, d in zip(kernel, dilation, strict=True)]
    size = [int(rng.integers(1, 12)) + more for more in reach]
    activation = rng.choice(["RELU", "RELU", "NONE", "RELU6", "RELU_N1_TO_1"])
    channels = [1, 3, 4, 8, 12, 16, 16, 20, 32, 40, 48, 68, *([132, 300, 436] if kernel == (1, 1) else [])]
    zero = rng.choice([-128, -128, 127, int(rng.integers(-128, 128))])
    return test_conv.Config(
        kind=kind,
        dtype="int8",
        batch=int(rng.choice([1, 1, 2])),
        size=(size[0], size[1]),
        channels=int(rng.choice(channels)),
        outputs=int(rng.choice([1, 2, 3, 4, 5, 8, 12, 16, 20, 22, 68])),
        kernel=kernel,
        stride=(1, 1) if max(dilation) > 1 or rng.random() < 0.5 else (2, int(rng.choice([1, 2]))),
        dilation=dilation,
        padding=padding,
        activation=str(activation),
        per_channel=bool(rng.random() < 0.5),
        bias=True,
        gain=float(rng.choice([0.1, 0.5, 1.0])),
        zeros=(int(rng.choice([-128, 7, 127])), int(zero)),
        seed=int(rng.integers(1 << 30)),
    )


def on_helium(c: test_conv.Config) -> list[Case]:
    """A layer with each of its kernels for Helium."""
    g = tflite.parse(test_conv.model([c]), "layer")
    found: list[Packed] = [k for k in offered(g, g.ops[0], FEATURES) if k.headers[-1] in HEADERS]
    return [Case(g, g.ops[0], kernel, c.seed) for kernel in found]


WINDOWS = [(1, 1), (3, 3), (1, 1), (3, 3), (1, 3), (10, 4), (1, 1), (3, 1), (5, 5), (2, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("core", [HOST, CORE])
@given(st.integers(0, 1 << 30))
@settings(max_examples=examples(1), deadline=None, suppress_health_check=MANY)
def test_random_layers(core: str, seed: int) -> None:
    configs = [*layers(seed, WINDOWS), *layers(seed, [(1, 1)], "FULLY_CONNECTED")[::3]]
    cases = [case for c in configs for case in on_helium(c)]
    check_cases(cases, Program(core if core == HOST else emulated(core)))


PLAIN = test_conv.Config(
    "CONV_2D", "int8", 1, (9, 9), 16, 8, (3, 3), (1, 1), (1, 1), "SAME", "RELU", True, True, 1.0, (3, -128), 7
)


def families(c: test_conv.Config) -> set[str]:
    return {case.kernel.family for case in on_helium(c)}


def refusals(c: test_conv.Config) -> dict[str, str]:
    g = tflite.parse(test_conv.model([c]), "layer")
    asked = catalogue.attempts(View(g, g.ops), FEATURES)
    return {kernel.name: found.why for kernel, found in asked if isinstance(found, Refusal)}


def test_what_fits() -> None:
    windows = {"conv4_packed", "conv4_packed_lean"}
    assert families(PLAIN) == windows | {"conv4", "conv4_lean"}
    assert families(replace(PLAIN, channels=12)) == windows
    assert families(replace(PLAIN, kernel=(1, 1))) == {"pointwise4"}
    assert families(replace(PLAIN, kernel=(1, 1), outputs=20)) == {"pointwise4"}
    assert families(replace(PLAIN, kernel=(1, 1), channels=3)) == windows
    assert not families(replace(PLAIN, outputs=3))
    assert families(replace(PLAIN, kernel=(1, 1), size=(9, 1))) == {"pointwise4", "fully_connected8"}


def test_what_is_refused() -> None:
    why = refusals(replace(PLAIN, channels=200, kernel=(5, 5)))
    assert why["conv4"] == "it is for windows of up to three rows over few times sixteen channels"
    assert why["conv4_packed"] == "windows are too large to be packed"
    assert why["pointwise4"] == "it is for windows of one pixel"
    assert refusals(replace(PLAIN, kernel=(1, 1), channels=6))["pointwise4"] == "channels are no multiple of four"
    shifted_left = replace(PLAIN, gain=1e-5, zeros=(3, 5), activation="NONE")
    assert refusals(shifted_left)["conv4"] == "no constants requantize its sums exactly in lanes"


@needs_litert
def test_a_network() -> None:
    """The planner chooses these kernels, at any setting, and every tensor is LiteRT's."""
    w = Writer("network")
    configs = [
        replace(PLAIN, channels=3, outputs=16, stride=(2, 2), size=(17, 18)),
        replace(PLAIN, size=(9, 9), zeros=(-128, 4), outputs=24, activation="NONE"),
        replace(PLAIN, size=(9, 9), channels=24, kernel=(1, 1), outputs=20, zeros=(4, -128)),
    ]
    x = None
    for i, c in enumerate(configs):
        x = test_conv.add_layer(w, i, c, source=x, output=i == len(configs) - 1)
    expected = ["conv4_packed", "conv4", "pointwise4"]
    for options in ({"optimize": "speed"}, {}):
        compiled = compile(w.finish(), target=emulated(CORE), **options)
        chosen = [step.kernel.family for step in compiled.plan.steps]
        assert [name.removesuffix("_lean") for name in dict.fromkeys(chosen)] == expected
        assert verify(compiled, 2).passed
