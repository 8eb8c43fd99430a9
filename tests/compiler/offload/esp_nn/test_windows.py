"""Working memory of ESP-NN's functions, and windows that they compute wrong."""

from __future__ import annotations

import ctypes
import os
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mote.base.files import temporary_folder
from mote.compiler.offload.esp_nn import known_defects, scratch
from mote.compiler.offload.esp_nn.layer import EspWindow
from mote.compiler.offload.esp_nn.library import PATH, Edition, includes

USERS = os.environ.get(PATH, "")
users = pytest.mark.skipif(not USERS, reason=f"{PATH} names no ESP-NN")
FILES = {
    ("conv", Edition.S3): "esp_nn_conv_esp32s3.c",
    ("conv", Edition.P4): "esp_nn_conv_esp32p4.c",
    ("depthwise_conv", Edition.S3): "esp_nn_depthwise_conv_s8_esp32s3.c",
    ("depthwise_conv", Edition.P4): "esp_nn_depthwise_conv_esp32p4.c",
}


def window(rows: int, columns: int, channels: int, **changes: int) -> EspWindow:
    """A 3x3 window with stride 1 that is padded all around, but for changes."""
    plain = EspWindow(1, rows, columns, channels, 3, 3, rows, columns, channels, 1, 1, 1, 1, 3, -4, -128, 127)
    return replace(plain, **changes)


@st.composite
def windows(draw: st.DrawFn) -> tuple[EspWindow, int]:
    """A convolution's window, and the channel multiplier of a depthwise one."""
    size, kernel, stride = st.integers(1, 40), st.integers(1, 5), st.integers(1, 3)
    channels = draw(st.sampled_from([1, 2, 3, 4, 5, 8, 12, 16, 24, 32, 40, 48, 96]))
    sizes = [draw(size), draw(size)]
    kernels = [min(draw(kernel), n) for n in sizes]
    strides = [draw(stride), draw(stride)]
    pads = [draw(st.integers(0, k // 2)) for k in kernels]
    after = [draw(st.integers(0, k // 2)) for k in kernels]
    rows, columns = (
        (n + p + a - k) // s + 1 for n, k, s, p, a in zip(sizes, kernels, strides, pads, after, strict=True)
    )
    multiplier = draw(st.sampled_from([1, 1, 2, 4, 8]))
    plain = window(sizes[0], sizes[1], channels, out_channels=channels * multiplier, out_height=rows, out_width=columns)
    kernel_sizes = dict(zip(("height", "width"), kernels, strict=True))
    steps = dict(zip(("stride_y", "stride_x", "pad_y", "pad_x"), (*strides, *pads), strict=True))
    return replace(plain, **kernel_sizes, **steps), multiplier


class Pair(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("width", "height")]


class Dims(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("width", "height", "channels", "extra")]


class Conv(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int32) for name in ("in_offset", "out_offset")),
        *((name, Pair) for name in ("stride", "padding", "dilation", "activation")),
    ]


class Depthwise(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int32) for name in ("in_offset", "out_offset", "ch_mult")),
        *((name, Pair) for name in ("stride", "padding", "dilation", "activation")),
    ]


@cache
def compiled(file: str, edition: Edition) -> ctypes.CDLL:
    """A file of ESP-NN as a library for this computer, without its assembly: to be asked for sizes alone."""
    where = Path(USERS).resolve()
    with temporary_folder() as folder:
        text = f'#define asm\n#define volatile(...)\n#include "{where}/src/convolution/{file}"\n'
        (folder / "sizes.c").write_text("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n" + text)
        flags = [*(f"-I{path}" for path in includes(where)), f"-DCONFIG_IDF_TARGET_{edition.upper()}=1", "-w", "-O0"]
        command = ["cc", "-std=gnu99", *flags, "-shared", "-fPIC", "-o", "sizes.so", "sizes.c"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return ctypes.CDLL(str(folder / "sizes.so"), mode=os.RTLD_LAZY)


def asked(kind: str, edition: Edition, w: EspWindow, multiplier: int) -> int:
    """The bytes that ESP-NN's own function says."""
    sizes = (Dims(w.in_width, w.in_height, w.in_channels), Dims(w.width, w.height, w.in_channels))
    out = Dims(w.out_width, w.out_height, w.out_channels)
    pairs = (Pair(w.stride_x, w.stride_y), Pair(w.pad_x, w.pad_y), Pair(1, 1), Pair(w.low, w.high))
    params: ctypes.Structure = Conv(w.in_offset, w.out_offset, *pairs)
    if kind == "depthwise_conv":
        params = Depthwise(w.in_offset, w.out_offset, multiplier, *pairs)
    function = getattr(compiled(FILES[kind, edition], edition), f"esp_nn_get_{kind}_scratch_size_{edition}")
    return int(function(*map(ctypes.byref, (*sizes, out, params))))


@users
@given(windows(), st.sampled_from([Edition.S3, Edition.P4]))
def test_working_memory(case: tuple[EspWindow, int], edition: Edition) -> None:
    """The bytes are those that ESP-NN's own functions say, for every layer that is not refused."""
    w, multiplier = case
    if not known_defects.conv(w, edition):
        assert scratch.conv(w, edition) == asked("conv", edition, w, multiplier)
    if not known_defects.depthwise(w, multiplier, edition):
        assert scratch.depthwise(w, multiplier, edition) == asked("depthwise_conv", edition, w, multiplier)


def test_working_memory_of_known_layers() -> None:
    """Of a 3x3 convolution and a depthwise one, as ESP-NN 1.2.3 says them."""
    w = window(10, 10, 16, out_channels=32)
    assert [scratch.conv(w, edition) for edition in Edition] == [0, 14016, 304]
    assert [scratch.depthwise(window(10, 10, 16), 1, edition) for edition in Edition] == [0, 2464, 0]


S3, P4 = Edition.S3, Edition.P4


@pytest.mark.parametrize(
    ("kind", "edition", "w", "why"),
    [
        ("conv", S3, window(9, 9, 16, height=4, width=4), "by as much behind as before"),
        ("conv", P4, window(9, 9, 1), "too little working memory"),
        ("conv", P4, window(8, 8, 16, pad_x=0, pad_y=0, height=5, width=5), "the last column and row"),
        ("depthwise", S3, window(9, 9, 16, pad_x=0, out_width=7), "too little working memory"),
        ("depthwise", S3, window(64, 64, 16, height=5, width=5, pad_x=2, pad_y=2), "another value than the zero point"),
        ("depthwise", P4, window(4, 4, 257), "more than 256 channels"),
    ],
)
def test_windows_that_are_refused(kind: str, edition: Edition, w: EspWindow, why: str) -> None:
    """What one edition computes wrong, the generic one does not."""

    def problem(of: Edition) -> str:
        return known_defects.conv(w, of) if kind == "conv" else known_defects.depthwise(w, 1, of)

    assert why in problem(edition) and not problem(Edition.GENERIC)


def test_other_refusals() -> None:
    pool = window(17, 17, 4, height=17, width=17)
    assert "16 bits" in known_defects.average(pool, S3) and not known_defects.average(pool, P4)
    assert known_defects.softmax(2, 40, S3) and not known_defects.softmax(1, 40, S3)
    assert not known_defects.softmax(2, 48, S3) and not known_defects.softmax(2, 20, S3)
