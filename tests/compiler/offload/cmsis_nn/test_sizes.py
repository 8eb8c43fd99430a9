"""Working memory against what CMSIS-NN itself says, for cores without DSP instructions, with them and with Helium."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.compiler.offload.cmsis_nn import CmsisNN
from mote.compiler.offload.cmsis_nn.files import INCLUDE, SOURCE, checkout
from mote.compiler.offload.contract import Artifact
from mote.frontends.tflite import parse
from mote.hardware import targets
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.pool import AveragePool
from tests.compiler.offload.cmsis_nn.layers import random_layers
from tests.helpers.support import varied

CORES = {"cortex-m3": "", "cortex-m4": "_dsp", "cortex-m55": "_mve"}
"""Cores, and how CMSIS-NN calls them."""
WINDOWS = (Conv2D, DepthwiseConv2D, AveragePool)
Library = Any


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Its functions of sizes, built for this computer: they have versions for all cores."""
    try:
        root = checkout()
    except FileNotFoundError as reason:
        pytest.skip(str(reason))
    compiler = shutil.which("cc") or shutil.which("gcc") or pytest.skip("there is no C compiler")
    files = sorted((root / SOURCE).glob("*/*get_buffer_sizes_s*.c"))
    library = tmp_path_factory.mktemp("sizes") / "sizes.so"
    command = [str(compiler), "-shared", "-fPIC", f"-I{root / INCLUDE}", *map(str, files), "-o", str(library)]
    subprocess.run([*command, "-Wl,--unresolved-symbols=ignore-all"], check=True)
    return ctypes.CDLL(str(library))


def words(*values: int | Iterable[int]) -> Any:
    """A struct of whole numbers."""
    flat = [n for value in values for n in ([value] if isinstance(value, int) else value)]
    return (ctypes.c_int32 * len(flat))(*flat)


def said(library: Library, suffix: str, graph: Any, op: Any) -> int:
    """The bytes that CMSIS-NN asks for."""
    x, y = op.input(graph), op.output(graph)
    kind = "s16" if str(x.dtype) == "int16" else "s8"
    if isinstance(op, AveragePool):
        return int(library[f"arm_avgpool_{kind}_get_buffer_size{suffix}"](y.shape[2], x.channels)) if suffix else 0
    v, h = op.vertical, op.horizontal
    tiles = [h.stride, v.stride, h.before, v.before, h.dilation, v.dilation, -128, 127]
    more = [op.multiplier] if isinstance(op, DepthwiseConv2D) else []
    name = "depthwise_conv" if more else "convolve"
    function = library[f"arm_{name}_wrapper_{kind}_get_buffer_size{suffix}"]
    structs = words(0, 0, *more, *tiles), words(x.shape), words(op.input(graph, 1).shape), words(y.shape)
    return int(function(*map(ctypes.byref, structs)))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(varied(st.integers(0, 2**32 - 1)))
def test_as_cmsis_nn_says(sizes: Library, seed: int) -> None:
    """No less; more where Arm's compiler takes more, and where the general function is called for a row."""
    graph = parse(random_layers(seed), "layers")
    for core, suffix in CORES.items():
        for op in graph.ops:
            made = CmsisNN().build(op, graph, targets.load(core)) if isinstance(op, WINDOWS) else None
            if isinstance(made, Artifact):
                wanted = said(sizes, suffix, graph, op)
                assert made.scratch >= wanted, (core, op)
                call, channels = made.calls[0].function, op.input(graph).channels
                arms = call == "cmsis_nn_convolve_wrapper_s8" and suffix == "_dsp" and made.scratch == 4 * channels
                general = call == "cmsis_nn_convolve_s8"
                spread = call == "cmsis_nn_depthwise_conv_wrapper_s8" and channels == 1 and suffix == "_mve"
                assert made.scratch == wanted or arms or general or spread, (core, op, made.scratch, wanted)
