"""The conversions between floats and elements that packages have, against the formula and against one another: for
numbers out of range, infinities, NaN, zeros of either sign, denormals, ties and the edges of saturation."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from mote.frontends.data.inputs import given_inputs
from mote.frontends.tflite.writer import Writer
from mote.ir.graph.types import DType
from mote.ui.reporter import html
from tests.compiler.package.test_micropython import built
from tests.compiler.package.test_rust import run
from tests.helpers.network import Net
from tests.helpers.support import needs

PORTS = (
    ("int8", 0.05, 3),
    ("int8", 0.125, -128),
    ("int8", 1e-9, 127),
    ("int8", 1e9, 0),
    ("int16", 0.05 / 256, 0),
    ("int16", 2.0, 0),
)
"""The type, scale and zero point of each input, and of its output."""
Codes = list[list[int]]
"""For each port the element of each float."""
Floats = list[list[int]]
"""For each port the float of each element, by its bits."""


def bits(value: float) -> int:
    return int(np.array(value, np.float32).view(np.uint32))


def floats(dtype: str, scale: float, zero: int) -> list[float]:
    """Numbers of all kinds; many lie on an edge between two elements, or beside one."""
    least, most = np.iinfo(dtype).min - zero, np.iinfo(dtype).max - zero
    steps = [-1.5, -0.5, 0.5, 1.5, 2.5, 62.5, -33.5, *(end + half for end in (least, most) for half in (-0.5, 0, 0.5))]
    edges = [np.float32(step) * np.float32(scale) for step in steps]
    near = [
        float(each) for edge in edges for each in (edge, *(np.nextafter(edge, np.float32(s)) for s in (-9e37, 9e37)))
    ]
    apart = [1e7, 2147483647.0, 2147483648.0, 4e9, 1e30, 3.4e38, math.inf, 1e-45, 1e-38, 0.0, 1.0, 3.3]
    return [*near, *apart, *(-x for x in apart), math.nan]


def elements(dtype: str) -> list[int]:
    limits = np.iinfo(dtype)
    return [limits.min, limits.min + 1, -100, -1, 0, 1, 17, limits.max - 1, limits.max]


@cache
def model() -> bytes:
    w, outputs = Writer("ports"), []
    for number, (dtype, scale, zero) in enumerate(PORTS):
        x = w.input(f"x{number}", (1, 4), dtype, scale, zero)
        y = w.tensor(f"y{number}", (1, 4), dtype, scale, zero)
        w.op("RELU", [x], [y])
        outputs.append(y)
    w.output(*outputs)
    return w.finish()


@cache
def compiled() -> Compiled:
    return compile(model(), instances=True, cpp=True, name="ports")


def quantized() -> Codes:
    """The formula: the quotient of float32, rounded to the nearest, halves away from zero, and saturated."""
    codes = []
    for dtype, scale, zero in PORTS:
        limits, codes_of = np.iinfo(dtype), []
        for value in floats(dtype, scale, zero):
            with np.errstate(over="ignore"):
                steps = float(np.float32(value) / np.float32(scale))
            whole = zero
            if math.isinf(steps):
                whole = limits.max if steps > 0 else limits.min
            elif not math.isnan(steps):
                whole = int(math.copysign(math.floor(abs(steps) + 0.5), steps)) + zero
            codes_of.append(min(max(whole, limits.min), limits.max))
        codes.append(codes_of)
    return codes


def dequantized() -> Floats:
    return [[bits(float(np.float32(s) * np.float32(q - z))) for q in elements(dtype)] for dtype, s, z in PORTS]


def printed(text: str) -> tuple[Codes, Floats]:
    """The lines of a program: for each port the elements, and then the bits of floats."""
    lines = [list(map(int, line.split())) for line in text.splitlines()]
    return lines[: len(PORTS)], lines[len(PORTS) :]


def lists(form: str, of: Callable[[Any], list[Any]]) -> str:
    """Initializers of an array for each port."""
    return "".join(form.format(n=n, values=", ".join(map(str, of(port)))) for n, port in enumerate(PORTS))


def of_values(port: tuple[str, float, int]) -> list[str]:
    return [f"{bits(x)}u" for x in floats(*port)]


C = """\
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "ports.{header}"

{arrays}
static float real(uint32_t bits) {{ float x; memcpy(&x, &bits, 4); return x; }}
static uint32_t bits(float x) {{ uint32_t b; memcpy(&b, &x, 4); return b; }}
#define QUANTIZE(n) \\
    for (size_t i = 0; i < sizeof floats_##n / 4; i++) printf("%d ", (int){front}quantize_##n(real(floats_##n[i]))); \\
    printf("\\n");
#define DEQUANTIZE(n) \\
    for (size_t i = 0; i < sizeof codes_##n / 4; i++) \\
        printf("%" PRIu32 " ", bits({front}dequantize_##n(({kinds}_##n)codes_##n[i]))); \\
    printf("\\n");
int main(void) {{ {calls} return 0; }}
"""


def in_c(folder: Path, compiler: str, header: str, front: str) -> tuple[Codes, Floats]:
    needs(compiler)
    compiled().write(folder, ["make"])
    arrays = lists("static const uint32_t floats_{n}[] = {{{values}}};\n", of_values)
    arrays += lists("static const int32_t codes_{n}[] = {{{values}}};\n", lambda port: elements(port[0]))
    arrays += "".join(f"typedef {dtype}_t kind_{n};\n" for n, (dtype, *_) in enumerate(PORTS))
    calls = " ".join(f"{name}({n})" for name in ("QUANTIZE", "DEQUANTIZE") for n in range(len(PORTS)))
    text = C.format(header=header, arrays=arrays, front=front, kinds="kind", calls=calls)
    source = folder / f"conversions.{'c' if compiler == 'cc' else 'cpp'}"
    source.write_text(text, encoding="utf-8")
    standard = "-std=c99" if compiler == "cc" else "-std=c++17"
    flags = [standard, "-Wall", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover=all"]
    run(compiler, *flags, "-I.", source.name, "-o", "conversions", cwd=folder)
    return printed(run("./conversions", cwd=folder))


def in_rust(folder: Path) -> tuple[Codes, Floats]:
    """Built as for debugging: sums that leave their type panic."""
    needs("cargo", "rustc", "cc")
    compiled().write(folder, ["rust"])
    lines = ["use ports::PortsModel as M;", "fn main() {"]
    for n, (dtype, scale, zero) in enumerate(PORTS):
        given = ", ".join(str(bits(x)) for x in floats(dtype, scale, zero))
        lines.append(f'for b in [{given}u32] {{ print!("{{}} ", M::quantize_{n}(f32::from_bits(b))); }} println!();')
    for n, (dtype, *_) in enumerate(PORTS):
        given = ", ".join(map(str, elements(dtype)))
        lines.append(f'for q in [{given}] {{ print!("{{}} ", M::dequantize_{n}(q).to_bits()); }} println!();')
    (folder / "examples" / "conversions.rs").write_text("\n".join([*lines, "}"]), encoding="utf-8")
    return printed(run("cargo", "run", "-q", "--offline", "--example", "conversions", cwd=folder))


def in_micropython(folder: Path) -> tuple[Codes, Floats]:
    compiled().write(folder, ["micropython"])
    built(compiled().package, folder)
    given = [[bits(x) for x in floats(*port)] for port in PORTS], [elements(port[0]) for port in PORTS]
    script = f"""
import ports, struct
floats, codes = {given!r}
for n, values in enumerate(floats):
    one = getattr(ports, f"quantize_{{n}}")
    print(*(one(struct.unpack("<f", struct.pack("<I", x))[0]) for x in values))
for n, values in enumerate(codes):
    one = getattr(ports, f"dequantize_{{n}}")
    print(*(struct.unpack("<I", struct.pack("<f", one(q)))[0] for q in values))
"""
    return printed(run(sys.executable, "-c", script, cwd=folder))


def in_the_page(folder: Path) -> tuple[Codes, Floats]:
    """The script of a report's page; numbers that JSON does not have are passed by their bits."""
    needs("node")
    text = (Path(html.__file__).parent / "page" / "tryit_model.js").read_text(encoding="utf-8")
    ports = [
        {"dtype": dtype, "scale": scale, "zero": zero, "limits": list(DType(dtype).limits), "shape": [1, count]}
        | {"size": count, "floats": [bits(x) for x in floats(dtype, scale, zero)], "elements": elements(dtype)}
        for dtype, scale, zero in PORTS
        for count in [len(floats(dtype, scale, zero))]
    ]
    script = f"""
const report = {{ page: {{ bytes: null }} }};
{text}
const ports = {json.dumps(ports)};
for (const port of ports) {{
  const values = new Float32Array(Uint32Array.from(port.floats).buffer);
  console.log(Array.from(webModel.taken(port, {{ values }})).join(" "));
}}
for (const port of ports)
  console.log(Array.from(new Uint32Array(Float32Array.from(webModel.real(port, port.elements)).buffer)).join(" "));
"""
    (folder / "page.js").write_text(script, encoding="utf-8")
    return printed(run("node", "page.js", cwd=folder))


WAYS: dict[str, Callable[[Path], tuple[Codes, Floats]]] = {
    "c": lambda folder: in_c(folder, "cc", "h", "ports_"),
    "c++": lambda folder: in_c(folder, "g++", "hpp", "mote::ports_model::"),
    "rust": in_rust,
    "micropython": in_micropython,
    "page": in_the_page,
}


@pytest.mark.parametrize("way", WAYS)
def test_special_floats(way: str, tmp_path: Path) -> None:
    codes, reals = WAYS[way](tmp_path)
    for port, made, wanted in zip(PORTS, codes, quantized(), strict=True):
        wrong = [(x, a, b) for x, a, b in zip(floats(*port), made, wanted, strict=True) if a != b]
        assert not wrong, f"{port}: value, element, right one: {wrong}"
    assert reals == dequantized()


@pytest.mark.filterwarnings("error")
def test_special_floats_in_python() -> None:
    """Inputs of `mote run` and of the API."""
    graph = compiled().plan.graph
    for n, (port, wanted) in enumerate(zip(PORTS, quantized(), strict=True)):
        for at in range(0, len(wanted) - 3, 4):
            given = {t: np.zeros((1, 4), np.float32) for t in graph.inputs}
            given[graph.inputs[n]] = np.array([floats(*port)[at : at + 4]], np.float32)
            (case,) = given_inputs(graph, given)
            assert case[graph.inputs[n]].reshape(-1).tolist() == wanted[at : at + 4]


def test_nan_is_less_than_any_number(tmp_path: Path) -> None:
    """For `top1`, as in C."""
    net = Net(dtype="float32")
    x = net.input(1, 4)
    doubles = compile(net.finish(net.add(x, x)), instances=True, name="doubles")
    doubles.write(tmp_path / "rust", ["rust"])
    program = """
fn main() {
    let mut memory = doubles::Doubles::new();
    let mut model = memory.init().unwrap();
    *model.input() = [f32::NAN, 1.0, f32::NAN, 2.0];
    model.run().unwrap();
    println!("{}", model.top1());
}
"""
    (tmp_path / "rust" / "examples" / "best.rs").write_text(program, encoding="utf-8")
    needs("cargo", "rustc", "cc")
    assert run("cargo", "run", "-q", "--offline", "--example", "best", cwd=tmp_path / "rust") == "3\n"
    doubles.write(tmp_path / "python", ["micropython"])
    built(doubles.package, tmp_path / "python")
    script = "import doubles; print(doubles.top1([float('nan'), 1.0, float('nan'), 2.0]))"
    assert run(sys.executable, "-c", script, cwd=tmp_path / "python") == "3\n"
