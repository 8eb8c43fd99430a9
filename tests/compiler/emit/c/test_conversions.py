"""The functions in the header that quantize, dequantize and find classes: as LiteRT and NumPy do."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mote.bench.execute import reference
from mote.compiler.line import compile
from mote.frontends.tflite.writer import Writer
from mote.ir.graph.tensor import Array
from tests.helpers.network import Net
from tests.helpers.support import needs

MODELS = Path(__file__).parents[4] / "models"
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
QUANTS = {"int8": (0.0371, -17), "uint8": (1 / 255, 3), "int16": (3.05e-5, 0)}
CLASSES = 40
WRAPPER = """\
#include "net.h"
void quantize_all(const float *in, int32_t *out, size_t n) { while (n-- > 0) { *out++ = net_quantize(*in++); } }
void dequantize_all(const ELEMENT *in, float *out, size_t n) { while (n-- > 0) { *out++ = net_dequantize(*in++); } }
int fill(const float *values) { return (int)net_quantize_input(values); }
size_t top1(void) { return net_top1(); }
size_t top_k(size_t *classes, size_t k) { return net_top_k(classes, k); }
"""
RANKER = """\
#include "net.h"
size_t top1(void) { return net_top1(); }
size_t top_k(size_t *classes, size_t k) { return net_top_k(classes, k); }
"""


def passed_on(dtype: str, size: int = CLASSES) -> bytes:
    """A model that hands its input on."""
    scale, zero = QUANTS.get(dtype, (None, 0))
    w = Writer("net")
    x = w.input("x", (1, size), dtype, scale, zero)
    y = w.tensor("y", (1, size), dtype, scale, zero)
    w.op("RESHAPE", [x, w.const("shape", np.array([1, size], np.int32))], [y])
    w.output(y)
    return w.finish()


def quantizer(dtype: str, count: int) -> bytes:
    scale, zero = QUANTS[dtype]
    w = Writer("quantizer")
    x, y = w.input("x", (1, count), "float32"), w.tensor("y", (1, count), dtype, scale, zero)
    w.op("QUANTIZE", [x], [y])
    w.output(y)
    return w.finish()


def dequantizer(dtype: str, count: int) -> bytes:
    scale, zero = QUANTS[dtype]
    w = Writer("dequantizer")
    x, y = w.input("x", (1, count), dtype, scale, zero), w.tensor("y", (1, count), "float32")
    w.op("DEQUANTIZE", [x], [y])
    w.output(y)
    return w.finish()


def litert(model: bytes, x: Array) -> Array:
    tensors = reference.litert(model)({0: x[None]})
    assert tensors is not None
    return np.asarray(tensors[1])[0]


def library(model: bytes, wrapper: str, folder: Path) -> Any:
    needs("gcc")
    compile(model, name="net").write(folder)
    (folder / "wrapper.c").write_text(wrapper)
    command = ["gcc", "-std=c99", "-O1", *STRICT, "-Wno-missing-prototypes", "-shared", "-fPIC"]
    subprocess.run([*command, "net.c", "wrapper.c", "-o", "net.so"], cwd=folder, check=True)
    built = ctypes.CDLL(str(folder / "net.so"))
    built.top1.restype = built.top_k.restype = ctypes.c_size_t
    built.net_input.restype = built.net_output.restype = ctypes.c_void_p
    return built


def hard_reals(dtype: str) -> Array:
    """Reals at, beside and between steps, and outside of the range, as far as LiteRT's conversion to int32 goes."""
    scale, zero = QUANTS[dtype]
    rng = np.random.default_rng(1)
    info = np.iinfo(dtype)
    halves = (np.arange(info.min - 2, info.max + 3, max(1, (info.max - info.min) // 2000)) - zero + 0.5) * scale
    near = np.float32(halves)
    sides = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
    reach = scale * (info.max - info.min)
    spread = rng.uniform(-reach, reach, 4000).astype(np.float32)
    special = np.float32([0.0, -0.0, 1e-45, -1e-45, 2e9 * scale, -2e9 * scale])
    return np.concatenate([*sides, spread, special]).astype(np.float32)


@pytest.mark.parametrize("dtype", QUANTS)
def test_quantizes_and_dequantizes_as_litert(dtype: str, tmp_path: Path) -> None:
    built = library(passed_on(dtype), WRAPPER.replace("ELEMENT", f"{dtype}_t"), tmp_path)
    reals = hard_reals(dtype)
    quantized = np.zeros(reals.size, np.int32)
    built.quantize_all(_at(reals), _at(quantized), ctypes.c_size_t(reals.size))
    assert np.array_equal(quantized, litert(quantizer(dtype, reals.size), reals))
    info = np.iinfo(dtype)
    elements = np.arange(info.min, info.max + 1).astype(dtype)
    real = np.zeros(elements.size, np.float32)
    built.dequantize_all(_at(elements), _at(real), ctypes.c_size_t(elements.size))
    assert np.array_equal(real, litert(dequantizer(dtype, elements.size), elements))
    beyond = np.float32([np.inf, -np.inf, 3e38, -3e38, np.nan])
    quantized = np.zeros(5, np.int32)
    built.quantize_all(_at(beyond), _at(quantized), ctypes.c_size_t(5))
    assert quantized.tolist() == [info.max, info.min, info.max, info.min, QUANTS[dtype][1]]


def _at(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def ranked(scores: Array) -> list[int]:
    """Indices from the best score on, the lower of equals first; NaN is worst."""
    return np.argsort(np.where(np.isnan(scores), np.inf, -scores.astype(np.float64)), kind="stable").tolist()


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_best_classes_in_order(dtype: str, tmp_path: Path) -> None:
    built = library(passed_on(dtype), RANKER, tmp_path)
    classes = np.full(CLASSES + 3, 99, np.uint64)
    assert built.top1() == CLASSES and built.top_k(_at(classes), ctypes.c_size_t(3)) == 0
    assert built.net_init() == 0
    rng = np.random.default_rng(2)
    for turn in range(30):
        scores = rng.integers(-8, 8 if turn % 2 else 120, CLASSES).astype(dtype)
        if dtype == "float32":
            scores[rng.integers(0, CLASSES, turn % 5 * 8)] = np.nan
        ctypes.memmove(built.net_input(), scores.ctypes.data, scores.nbytes)
        assert built.net_run() == 0
        order = ranked(scores)
        assert built.top1() == order[0]
        for k in (0, 1, 3, CLASSES - 1, CLASSES, CLASSES + 3):
            classes[:] = 99
            assert built.top_k(_at(classes), ctypes.c_size_t(k)) == min(k, CLASSES)
            assert classes.tolist() == order[:k] + [99] * (CLASSES + 3 - min(k, CLASSES))


def test_the_whole_input_is_quantized_after_init(tmp_path: Path) -> None:
    built = library(passed_on("int8"), WRAPPER.replace("ELEMENT", "int8_t"), tmp_path)
    values = np.linspace(-2, 2, CLASSES, dtype=np.float32)
    assert built.fill(_at(values)) == 1
    assert built.net_init() == 0 and built.fill(_at(values)) == 0 and built.net_run() == 0
    output = np.ctypeslib.as_array(ctypes.cast(built.net_output(), ctypes.POINTER(ctypes.c_int8)), (CLASSES,))
    assert np.array_equal(output, litert(quantizer("int8", CLASSES), values))


def functions(header: str) -> set[str]:
    return set(re.findall(r"static inline .*?(\w+)\(", header))


def test_several_inputs_and_outputs_are_numbered(tmp_path: Path) -> None:
    net = Net()
    a, b = net.input(1, 4), net.input(1, 4)
    header = compile(net.finish(net.op("ADD", [a, b]), net.op("MUL", [a, b])), name="net").project.files["net.h"]
    names = {"quantize", "quantize_input", "dequantize", "top1", "top_k"}
    assert functions(header) == {f"net_{name}_{i}" for name in names for i in (0, 1)}
    assert "net_quantize_input_0(my_floats);" in header and "net_top1_1()" in header


def test_pictures_and_floats_have_only_functions_that_mean_something() -> None:
    net = Net(dtype="float32")
    picture = compile(net.finish(net.conv(net.input(1, 6, 5, 3), 4)), name="net").project.files["net.h"]
    assert functions(picture) == set()
    pushed = compile(MODELS / "digits.tflite", input="rows").project.files["digits.h"]
    assert functions(pushed) == {f"digits_{name}" for name in ("quantize", "dequantize", "top1", "top_k")}


@pytest.mark.parametrize("flags", ["gcc -std=c99", "g++ -std=c++11 -x c++", "clang -std=c99", "avr-gcc -std=c99"])
def test_functions_that_nobody_calls_take_nothing(flags: str, tmp_path: Path) -> None:
    cc, *rest = flags.split()
    needs(cc)
    compile(MODELS / "digits.tflite").write(tmp_path)
    (tmp_path / "user.c").write_text('#include "digits.h"\nint used;\n')
    command = [cc, *rest, *STRICT, "-O0", "-c", "user.c", "-o", "user.o"]
    subprocess.run(command, cwd=tmp_path, check=True)
    symbols = subprocess.run(["nm", "user.o"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert "digits" not in symbols


def test_every_file_names_its_licence_and_the_header_the_model() -> None:
    compiled = compile(MODELS / "digits.tflite")
    assert all("SPDX-License-Identifier: Apache-2.0" in text.split("\n")[0] for text in compiled.project.files.values())
    single = compile(MODELS / "digits.tflite", single_file=True).project.files["digits.c"]
    assert single.count("SPDX") == 1
    header = compiled.project.files["digits.h"]
    digest = subprocess.run(["sha256sum", MODELS / "digits.tflite"], capture_output=True, text=True, check=True).stdout
    assert f'#define DIGITS_MODEL_SHA256 "{digest.split()[0]}"' in header
    assert f"#define DIGITS_MODEL_HASH 0x{digest[:8]}u" in header
