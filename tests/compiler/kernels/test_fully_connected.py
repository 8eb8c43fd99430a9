"""FULLY_CONNECTED four outputs at a time: every kind of inputs, weights and rounding, on the host and on a core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.bench.evaluation.verify import verify
from mote.compiler.kernels import catalogue
from mote.compiler.kernels.armv7em.vector.vector4 import pairs_fit
from mote.compiler.kernels.contract import Packed, View
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from tests.compiler.kernels.c_harness import Case, Program, check_cases
from tests.helpers.offered import DSP, PORTABLE, offered
from tests.helpers.support import HOST_DSP, check, emulated, exact_on, examples, needs_litert, soaked


@dataclass(frozen=True)
class Config:
    """One layer. `weights`: how large they are; `kept`: the share of blocks of four outputs and inputs that are not
    zero; `gain`: the output's scale over a usual one."""

    vectors: int = 1
    depth: int = 8
    outputs: int = 4
    weights: str = "usual"
    kept: float = 1.0
    per_channel: bool = False
    activation: str = "NONE"
    gain: float = 1.0
    zeros: tuple[int, int] = (-3, 5)
    seed: int = 0


def configs() -> st.SearchStrategy[Config]:
    return st.builds(
        Config,
        vectors=st.sampled_from([1, 1, 3]),
        depth=st.integers(1, 20) | st.integers(21, 90),
        outputs=st.integers(1, 14),
        weights=st.sampled_from(["usual", "usual", "extreme", "lowest", "small"]),
        kept=st.sampled_from([1.0, 1.0, 0.5, 0.2, 0.05, 0.0]),
        per_channel=st.booleans(),
        activation=st.sampled_from(["NONE", "RELU"]),
        gain=st.sampled_from([0.1, 1.0, 1.0, 30.0]),
        zeros=st.tuples(st.sampled_from([-128, 127]) | st.integers(-128, 127), st.just(-128) | st.integers(-128, 127)),
        seed=st.integers(0, 1 << 30),
    )


def weights(c: Config, rng: np.random.Generator) -> np.ndarray:
    shape = (c.outputs, c.depth)
    choices = {"extreme": [-127, 127], "lowest": [-128, 127, 0], "small": [-1, 0, 1]}.get(c.weights)
    found = (rng.integers(-127, 128, shape) if choices is None else rng.choice(choices, shape)).astype(np.int8)
    blocks = rng.random((-(-c.outputs // 4), -(-c.depth // 4))) < c.kept
    return found * blocks.repeat(4, axis=0).repeat(4, axis=1)[: c.outputs, : c.depth]


def model(layers: list[Config]) -> bytes:
    w = Writer("dense")
    for i, c in enumerate(layers):
        rng = np.random.default_rng(c.seed)
        scale = rng.uniform(0.001, 0.02, c.outputs if c.per_channel else 1).astype(np.float32)
        x = w.input(f"x{i}", (c.vectors, c.depth), "int8", scale=0.05, zero_point=c.zeros[0])
        k = w.const(f"k{i}", weights(c, rng), scale=scale, axis=0)
        b = w.const(f"b{i}", rng.integers(-3000, 3000, c.outputs).astype(np.int32), scale=scale * np.float32(0.05))
        size = float(0.05 * scale.max() * 80 * c.depth**0.5 * c.gain)
        y = w.tensor(f"y{i}", (c.vectors, c.outputs), "int8", scale=size, zero_point=c.zeros[1])
        w.op("FULLY_CONNECTED", [x, k, b], [y], fused_activation_function=c.activation)
        w.output(y)
    return w.finish()


def models(count: int) -> st.SearchStrategy[bytes]:
    return st.lists(configs(), min_size=count, max_size=count).map(model)


SPARSE = ["4_sparse8", "4_sparse4", "4_wide_sparse8", "4_wide_sparse4"]
SIXES = [f"6_pairs{own}{form}" for own in ("", "_channels") for form in ("", "_roomy", "_roomy_fpu")]
KINDS = ["", *SIXES, "8_pairs", "8_pairs_channels", "4", "4_roomy", "4_wide", "4_wide_roomy", *SPARSE]


@pytest.fixture(
    params=soaked(KINDS, ["", "6_pairs", "6_pairs_channels_roomy_fpu", "8_pairs", "4_wide_roomy", "4_sparse4"])
)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every layer for which there is such a kernel gets it."""
    kind: str = request.param
    candidates = catalogue.candidates

    def chosen(view: View, features: frozenset[str], **wanted: Any) -> list[Packed]:
        found = candidates(view, features, **wanted)
        return [k for k in found if k.family == f"fully_connected{kind}"] or found

    monkeypatch.setattr(catalogue, "candidates", chosen)
    return kind


MANY = list(HealthCheck)


@pytest.mark.slow
@needs_litert
@pytest.mark.usefixtures("kind")
@given(models(24))
@settings(max_examples=examples(3), deadline=None, suppress_health_check=MANY)
def test_portable_twins(layers: bytes) -> None:
    check(layers, target=HOST_DSP)


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.usefixtures("kind")
@given(models(8))
@settings(max_examples=examples(2), deadline=None, suppress_health_check=MANY)
def test_on_cortex_m4(layers: bytes) -> None:
    exact_on("cortex-m4", layers)


@pytest.mark.slow
@pytest.mark.usefixtures("kind")
@given(models(8))
@settings(max_examples=examples(2), deadline=None, suppress_health_check=MANY)
@pytest.mark.parametrize("target", [HOST_DSP, "cortex-m4"])
def test_rounding_twice(target: str, layers: bytes) -> None:
    if target == "cortex-m4":
        emulated(target)
    result = verify(compile(layers, target=target, numerics="tflm"), 3)
    assert result.passed, result.mismatches


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.usefixtures("kind")
def test_sums_as_large_as_they_can_be() -> None:
    """257 times the largest sum is just below 2^31."""
    large = [((zero, 4), gain) for zero in (-128, 0, 127) for gain in (1.0, 16.0)]
    layers = [Config(depth=256, outputs=9, weights="extreme", gain=gain, zeros=zeros) for zeros, gain in large]
    layers += [Config(depth=497, outputs=9, weights="extreme", gain=16.0, zeros=(0, 4))]
    exact_on("cortex-m4", model(layers), 6)


def kernels(c: Config, features: frozenset[str] = DSP) -> dict[str, Packed]:
    g = tflite.parse(model([c]), "model")
    return {k.family: k for k in offered(g, g.ops[0], features)}


EIGHT = "fully_connected8_pairs"
SIX = ["fully_connected6_pairs_roomy", "fully_connected6_pairs"]
SIX_CHANNELS = ["fully_connected6_pairs_channels_roomy", "fully_connected6_pairs_channels"]
FOUR = ["fully_connected4", "fully_connected4_roomy"]
WIDE = ["fully_connected4_wide", "fully_connected4_wide_roomy"]
BLOCKS = ["fully_connected4_sparse8", "fully_connected4_sparse4"]
WIDE_BLOCKS = ["fully_connected4_wide_sparse8", "fully_connected4_wide_sparse4"]


@pytest.mark.parametrize(
    ("config", "names"),
    [
        (Config(outputs=8), [*SIX, EIGHT, *FOUR, *WIDE]),
        (Config(outputs=8, per_channel=True), [*SIX_CHANNELS, f"{EIGHT}_channels", *FOUR, *WIDE]),
        (Config(outputs=2), [FOUR[0], WIDE[0], "fully_connected"]),
        (Config(depth=13), [FOUR[1], WIDE[1]]),
        (Config(depth=64, kept=0.2), [FOUR[0], *BLOCKS, WIDE[0], *WIDE_BLOCKS]),
        (Config(weights="lowest", seed=1), [WIDE[0], "fully_connected"]),
        (Config(activation="RELU"), ["fully_connected"]),
        (Config(activation="RELU", zeros=(0, -128)), [FOUR[0], WIDE[0]]),
    ],
)
def test_which_kernels(config: Config, names: list[str]) -> None:
    assert list(kernels(config)) == names
    assert list(kernels(config, PORTABLE)) == ["fully_connected"]


def test_short_code() -> None:
    sizes = ((24, 8, False), (128, 11, False), (99, 16, True))
    shapes = [Config(vectors=2, depth=depth, outputs=n, per_channel=own, seed=depth) for depth, n, own in sizes]
    graphs = [tflite.parse(model([c]), "model") for c in shapes]
    cases = [
        Case(g, g.ops[0], kernel, seed)
        for seed, g in enumerate(graphs)
        for kernel in offered(g, g.ops[0], DSP)
        if kernel.family.endswith("_compact")
    ]
    assert len(cases) == 6 and all(case.kernel.code_bytes <= 1024 for case in cases)
    check_cases(cases, Program(emulated("cortex-m4")))


def test_the_last_outputs_are_not_padded() -> None:
    assert kernels(Config(depth=300, outputs=1))["fully_connected"].constants == 300 + 12


def test_working_memory() -> None:
    room = {name: k.needs.scratch for name, k in kernels(Config(depth=24, outputs=8)).items()}
    eight = {EIGHT: 48, f"{EIGHT}_compact": 48}
    assert room == {SIX[0]: 48, SIX[1]: None, **eight, FOUR[0]: None, FOUR[1]: 48, WIDE[0]: None, WIDE[1]: 48}


def test_scales_are_stored_once_where_they_are_the_same() -> None:
    same = kernels(Config(outputs=11))[FOUR[0]]
    other = kernels(Config(outputs=11, per_channel=True))[FOUR[0]]
    assert (same.params["step"], len(same.params["scale"])) == (0, 8)
    assert (other.params["step"], len(other.params["scale"])) == (8, 24)


def test_pairs_fit_a_register() -> None:
    most, row = (1 << 31) // 257, np.full((1, 4), -127, np.int8)
    assert pairs_fit(row, most) and not pairs_fit(row, most + 1)
    assert not pairs_fit(np.array([[-128, 1]], np.int8), 0)
