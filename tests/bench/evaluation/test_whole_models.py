"""Whole models, every tensor against the reference: on the host (under sanitizers) and on emulated cores."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import mlperf_tiny
from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.bench.measure.run import run
from mote.compiler.line import compile
from tests.helpers.support import PUBLIC_MODELS, emulated, needs_litert, soaked

pytestmark = needs_litert
MODELS = Path(__file__).parents[3] / "models"
BUNDLED = [MODELS / "digits.tflite", MODELS / "keywords.tflite"]
PUBLIC = sorted(PUBLIC_MODELS.glob("*.tflite"))
CORES = ["cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55", "rv32imc"]
public = pytest.mark.parametrize("path", PUBLIC or [None], ids=lambda p: p.stem if p else "none")


def present(path: Path | None) -> Path:
    return path or pytest.skip("the public models are not beside the checkout")


@cache
def generated(name: str, dtype: str = "int8") -> bytes:
    return mlperf_tiny.build(name, dtype=dtype)


def exact(model: Path | bytes, target: str, inputs: int, **options: object) -> None:
    result = verify(compile(model, target=target, **options), inputs, sanitize=target == "host")
    assert result.reference == "LiteRT BUILTIN_REF"
    assert result.passed, result.mismatches


@pytest.mark.slow
@public
def test_public_model_on_host(path: Path | None) -> None:
    exact(present(path), "host", 4)


@pytest.mark.quick_cases(1)
@public
def test_public_model_on_cortex_m4(path: Path | None) -> None:
    exact(present(path), emulated("cortex-m4"), 2)


@pytest.mark.slow
def test_int8_edges() -> None:
    found = [p for p in PUBLIC if "mcunet" in p.stem]
    exact(present(found[0] if found else None), "host", 2, io="int8", optimize="speed")


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("path", BUNDLED, ids=lambda p: p.stem)
def test_bundled_model_on_every_core(path: Path, core: str) -> None:
    exact(path, emulated(core), 6)


@pytest.mark.slow
@pytest.mark.parametrize("optimize", ["speed", "size"])
def test_bundled_model_at_every_optimization(optimize: str) -> None:
    for path in BUNDLED:
        exact(path, emulated("cortex-m4"), 3, optimize=optimize)
        exact(path, "host", 6, optimize=optimize, single_file=True, caller_arena=True)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", soaked(["ad", "kws", "ic", "vww", "sww", "mcunet"], ["ic", "sww"]))
def test_generated_architecture(name: str) -> None:
    exact(generated(name), "host", 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ad", "kws", "sww"])
def test_generated_architecture_on_cortex_m4(name: str) -> None:
    exact(generated(name), emulated("cortex-m4"), 2)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["host", "cortex-m4", "cortex-m0plus", "rv32imc"])
def test_float_model(target: str) -> None:
    exact(generated("kws", "float32"), target if target == "host" else emulated(target), 2)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", ["cortex-m4", "rv32imc"])
def test_run_is_deterministic(core: str) -> None:
    compiled = compile(BUNDLED[0], target=emulated(core))
    first, second = run(compiled), run(compiled)
    assert first.json() == second.json()
    assert first.instructions and all(layer.instructions for layer in first.layers)
    assert sum(layer.instructions or 0 for layer in first.layers) == pytest.approx(first.instructions, rel=0.01)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("compiler", ["gcc", "zig"])
def test_wheels_agree_with_system_tools(compiler: str) -> None:
    """The same ELF has the same count under both emulators; both compilers give the same outputs."""
    compiled = compile(BUNDLED[0], target="cortex-m4")
    results = []
    for emulator in ("qemu", "unicorn"):
        try:
            results.append(run(compiled, compiler=compiler, emulator=emulator))
        except MoteError as error:
            pytest.skip(str(error))
    assert results[0].instructions == results[1].instructions
    assert results[0].layers == results[1].layers
    assert results[0].outputs == results[1].outputs
    assert results[0].ram == results[1].ram
