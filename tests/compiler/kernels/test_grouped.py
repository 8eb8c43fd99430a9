"""Grouped convolutions in blocks of pixels, whole and by rows: on the host and on emulated cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.compiler.kernels.contract import NHWC
from mote.compiler.kernels.helium.common import HELIUM
from mote.ir.ops.windows.grouped_conv import GroupedConv2D
from tests.compiler.kernels import test_four_pixels as four_pixels
from tests.helpers.offered import DSP
from tests.helpers.support import examples
from tests.ir.ops.windows.test_conv import Config

DSP_FAMILIES = frozenset({"grouped4x2_wide", "grouped4x2_pair"})
HELIUM_FAMILIES = frozenset({"grouped4"})
CORES = {
    "host": (DSP, DSP_FAMILIES),
    "cortex-m4": (DSP, DSP_FAMILIES),
    "host as Helium": (DSP | HELIUM, HELIUM_FAMILIES),
    "cortex-m55": (DSP | HELIUM, HELIUM_FAMILIES),
}
"""Where kernels run: the features that they are offered for, and their families."""
FEW = settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))


def layer(
    size: tuple[int, int], groups: int, inputs: int, outputs: int, kernel: tuple[int, int] = (3, 3), **more: object
) -> Config:
    """A layer with that many input and output channels in each group."""
    config = four_pixels.layer(size, groups * inputs, groups * outputs, kernel=kernel, **more)
    return replace(config, groups=groups)


SHAPES = [
    layer((8, 8), 2, 8, 8), layer((5, 5), 3, 4, 2, activation="NONE"), layer((9, 10), 2, 8, 6, stride=(2, 2)),
    layer((4, 3), 2, 12, 4), layer((3, 1), 5, 4, 4, (3, 1), activation="NONE"), layer((6, 6), 2, 16, 16, (1, 1)),
    layer((7, 9), 2, 4, 10, padding="VALID"), layer((8, 9), 2, 8, 4, dilation=(2, 2)),
    layer((9, 9), 3, 4, 2, padding="VALID", dilation=(2, 2)), layer((4, 6), 2, 4, 4, batch=2),
    layer((8, 8), 4, 8, 8), layer((6, 7), 3, 8, 4, activation="NONE"), layer((5, 6), 2, 32, 8, stride=(2, 2)),
    layer((6, 5), 5, 4, 2, padding="VALID"), layer((3, 2), 2, 16, 6, batch=2), layer((9, 9), 8, 4, 4, (2, 2)),
    layer((4, 4), 7, 4, 1, (1, 1)), layer((2, 20), 2, 20, 2, (2, 5), gain=0.1),
    layer((6, 7), 2, 4, 2, (1, 1), stride=(2, 2)),
]  # fmt: skip


def check(configs: Sequence[Config], core: str) -> set[str]:
    """Runs every kernel for blocks of pixels of these layers; returns their families."""
    features, families = CORES[core]
    found = four_pixels.cases(configs, [NHWC], features, tuple(families))
    assert all(isinstance(case.graph.ops[0], GroupedConv2D) for case in found)
    four_pixels.check(found, core.split()[0])
    return {case.kernel.family for case in found}


@pytest.mark.parametrize("core", CORES)
def test_shapes(core: str) -> None:
    assert check(SHAPES, core) == CORES[core][1]


@FEW
@given(st.data(), st.sampled_from(list(CORES)))
def test_any_layer(data: st.DataObject, core: str) -> None:
    draw = data.draw
    configs = []
    for seed in range(6):
        kernel = draw(st.tuples(st.integers(1, 3), st.integers(1, 5)))
        size = (kernel[0] + draw(st.integers(0, 4)), kernel[1] + draw(st.integers(0, 8)))
        dilated = draw(st.booleans())
        config = layer(
            size,
            draw(st.integers(2, 4)),
            4 * draw(st.integers(1, 5)),
            2 * draw(st.integers(1, 5)),
            kernel,
            stride=(1, 1) if dilated else draw(st.tuples(st.integers(1, 2), st.integers(1, 3))),
            dilation=draw(st.tuples(st.integers(1, 2), st.integers(1, 2))) if dilated else (1, 1),
            padding="SAME" if dilated else draw(st.sampled_from(["SAME", "VALID"])),
            activation=draw(st.sampled_from(["NONE", "RELU"])),
            per_channel=draw(st.booleans()),
            batch=draw(st.integers(1, 2)),
            zeros=(draw(st.integers(-128, 127)), draw(st.sampled_from([-128, -3, 40]))),
            seed=seed,
        )
        configs.append(config)
    check([c for c in configs if c.activation == "NONE" or c.zeros[1] == -128], core)
