"""Cores that trap words at odd addresses: code that is compiled for them has none, and an emulated one would notice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mote import compile, verify
from mote.base.errors import MoteError
from mote.bench.measure.runner import bench
from mote.compiler.kernels import portable
from mote.hardware import targets
from mote.hardware.targets import Target
from mote.hardware.toolchain import Mode
from mote.hardware.toolchain.machine_code import read_code
from tests.helpers.network import Net
from tests.helpers.support import emulated

PORTABLE = {path.name for path in Path(portable.__file__).parent.rglob("*.h")}
PINNED = {"t10": "fully_connected8_pairs"}
"""Kernels of layers of `even` that so few inputs would not be worth."""


@pytest.fixture
def trapping(tmp_path: Path) -> Target:
    emulated("cortex-m4")
    path = tmp_path / "trapping.toml"
    path.write_text('extends = "cortex-m4"\nunaligned = false\n')
    return targets.load(str(path))


def odd() -> bytes:
    """Rows and pixels whose sizes are odd, and kernels that copy, load and store several bytes at once."""
    net = Net()
    x = net.input(1, 9, 7, 3)
    y = net.conv(x, 5)
    y = net.depthwise(net.concatenate(3, y, y))
    y = net.add(net.conv(y, 7, 1), net.conv(x, 7, 1))
    y = net.slice(net.pad(y, (0, 0), (1, 0), (0, 1), (0, 0)), (0, 1, 1, 0), (1, 9, 7, 7))
    y = net.resize(net.pool(y, kind="MAX_POOL_2D", stride=1), 5, 5, "RESIZE_NEAREST_NEIGHBOR")
    y = net.moved("TRANSPOSE", [net.transpose_conv(net.pool(y), 3), net.ints(0, 2, 1, 3)], (1, 4, 4, 3))
    scores = net.fully_connected(net.flat(y), 5)
    return net.finish(net.op("SOFTMAX", [scores], quant=(1 / 256, -128), beta=1.0), net.mean(y))


def even() -> bytes:
    """Channels in fours."""
    net, relu = Net(), {"fused_activation_function": "RELU", "quant": (0.05, -128)}
    y = net.conv(net.input(1, 12, 12, 4), 8, **relu)
    y = net.conv(net.depthwise(net.conv(y, 16, 1, **relu), **relu), 16, 1, **relu)
    y = net.depthwise(net.conv(y, 16, 1, stride=2, **relu), kernel=(5, 5), **relu)
    y = net.add(net.conv(y, 16), y)
    return net.finish(net.fully_connected(net.flat(y), 12))


def frames() -> bytes:
    """A window over frames of five bytes."""
    net = Net()
    y = net.depthwise(net.input(1, 9, 1, 5), kernel=(3, 1), padding="VALID")
    return net.finish(net.fully_connected(net.flat(y), 3))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("model", "options"), [(odd, {"least_ram": True}), (frames, {"stream": 1})])
def test_nothing_is_unaligned(
    model: Callable[[], bytes], options: dict[str, Any], trapping: Target, tmp_path: Path
) -> None:
    """Not in C, and not in the C library, whose memcpy is not called; assembly is for channels in fours only."""
    compiled = compile(model(), target=trapping, **options)
    assert not {file for step in compiled.plan.steps for file in step.kernel.files} - PORTABLE
    assert verify(compiled, 2).passed
    assert "memcpy" not in read_code(bench(compiled, tmp_path).elf(Mode.MEASURE)).functions


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("core", "options", "families"),
    [
        (
            "cortex-m4",
            {"optimize": "speed"},
            ("conv4x2_wide_fpu", "depthwise_gemm_two_wide_compact_fpu", "depthwise_wide"),
        ),
        ("cortex-m4", {"optimize": "speed", "kernels": PINNED}, tuple(PINNED.values())),
        ("cortex-m4", {"least_ram": True}, ("add4",)),
        ("cortex-m55", {"optimize": "speed"}, ("conv4_packed", "pointwise4", "depthwise_taps", "fully_connected8")),
    ],
    ids=str,
)
def test_assembly_keeps_words_aligned(core: str, options: dict[str, Any], families: tuple[str, ...]) -> None:
    """Where the channels of all tensors come in fours."""
    compiled = compile(even(), target=emulated(core), aligned=True, **options)
    assert set(families) <= {step.kernel.family.removesuffix("_lean") for step in compiled.plan.steps}
    assert verify(compiled, 2).passed


def test_code_for_dsp_can_be_compiled_so_too(trapping: Target) -> None:
    """By a user who has not told Mote: it computes the same."""
    tuned = replace(trapping, features=trapping.features - {targets.ALIGNED})
    compiled = compile(odd(), target=tuned)
    assert {"gemm3", "winograd"} & {step.kernel.headers[0].split("_")[0][:8] for step in compiled.plan.steps}
    assert verify(compiled, 1).passed


def test_the_trap_is_noticed(trapping: Target) -> None:
    """Without the option, the same model fails on a core that traps."""
    usual = targets.load("cortex-m4")
    core = replace(usual, gcc_flags=(*usual.gcc_flags, "-DMOTE_UNALIGN_TRP"))
    for target in (core, replace(core, features=frozenset())):
        with pytest.raises(MoteError, match="HardFault"):
            verify(compile(frames(), target=target), 1)


def test_the_key_of_a_target(tmp_path: Path, trapping: Target) -> None:
    usual = targets.load("cortex-m4")
    assert trapping.features - usual.features == {targets.ALIGNED}
    assert targets.aligned(trapping) is trapping
    assert trapping.gcc_flags == (*usual.gcc_flags, "-mno-unaligned-access")
    assert [flag for flag in trapping.zig_flags if "strict_align" in flag] == ["-mcpu=cortex_m4+vfp4d16sp+strict_align"]
    assert "-mno-unaligned-access" in compile(odd(), target=trapping).project.files["Makefile"]
    path = tmp_path / "t.toml"
    path.write_text('extends = "cortex-m4"\nunaligned = "no"\n')
    with pytest.raises(MoteError, match="'unaligned' must be true or false, not 'no'"):
        targets.load(str(path))
    path.write_text('extends = "rv32imc"\nunaligned = false\n')
    assert targets.load(str(path)).gcc_flags == targets.load("rv32imc").gcc_flags


@pytest.mark.slow
def test_the_header_says_how_it_was_measured_and_what_it_asks_of_the_core() -> None:
    usual, aligned = (compile(even(), target="cortex-m4", name="even", aligned=a) for a in (False, True))
    texts = [c.project.files["even.h"].replace("\n * ", " ") for c in (usual, aligned)]
    assert all(f"built by gcc with {' '.join(usual.settings.target.gcc_flags)}" in text for text in texts)
    assert ["CCR.UNALIGN_TRP must be 0" in text for text in texts] == [True, False]
