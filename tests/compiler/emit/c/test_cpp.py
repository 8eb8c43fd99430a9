"""`--cpp`: the C++17 class gives what the C functions give, without exceptions, RTTI or a heap."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mote.bench.execute.stimuli import stimuli
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from tests.compiler.emit.c.test_instances import outputs, small
from tests.compiler.emit.c.test_project import DIGITS, compiler_or_skip, run
from tests.compiler.passes.test_stream import wake_word
from tests.helpers.network import Net
from tests.helpers.support import soaked

CPP = ["-std=c++17", "-fno-exceptions", "-fno-rtti", "-I."]
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror"]


def two_outputs() -> bytes:
    net = Net()
    a, b = net.input(1, 4), net.input(1, 4)
    return net.finish(net.op("ADD", [a, b]), net.op("MUL", [a, b]))


def real() -> bytes:
    net = Net(dtype="float32")
    return net.finish(net.mean(net.conv(net.input(1, 6, 5, 3), 4)))


FORMS: dict[str, tuple[Callable[[], bytes], dict[str, Any]]] = {
    "static": (small, {}),
    "instance": (small, {"instances": True}),
    "caller arena": (small, {"caller_arena": True}),
    "instance, caller arena": (two_outputs, {"instances": True, "caller_arena": True}),
    "stream": (wake_word, {"stream": 1, "hop": 2}),
    "pushed": (small, {"input": "rows", "instances": True}),
    "float": (real, {}),
    "two cores": (small, {"cores": 2}),
}


def compiled_as(form: str) -> Compiled:
    model, options = FORMS[form]
    return compile(model(), name="net", cpp=True, **options)


def literals(values: np.ndarray[Any, Any]) -> str:
    return ", ".join(f"{float(x).hex()}f" if values.dtype == np.float32 else str(x) for x in values.reshape(-1))


def firmware(compiled: Compiled, count: int) -> str:
    """Prints the outputs of runs in hexadecimal, waiting where there are none."""
    plan, graph = compiled.plan, compiled.plan.graph
    arena = compiled.settings.caller_arena
    cases = list(stimuli(graph, count))
    several = len(graph.inputs) > 1
    ctypes = {"int8": "int8_t", "float32": "float"}
    arrays, fills, prints = "", "", ""
    for i, t in enumerate(graph.inputs):
        tensor, suffix = graph.tensors[t], f"_{i}" if several else ""
        rows = ", ".join(f"{{{literals(case[t])}}}" for case in cases)
        arrays += f"static const {ctypes[tensor.dtype]} given_{i}[{count}][{tensor.size}] = {{{rows}}};\n"
        fills += f"for (size_t k = 0; k < model.input{suffix}_size; k++) model.input{suffix}()[k] = given_{i}[n][k];\n"
    for i in range(len(graph.outputs)):
        suffix = f"_{i}" if len(graph.outputs) > 1 else ""
        prints += f"for (const auto &value : model.output{suffix}()) show(value);\n"
    call = "model.push(given_0[n])" if plan.pushed else "model.run()"
    return f"""
#include <stdio.h>
#include <string.h>
#include "net.hpp"
{arrays}
template <typename T> static void show(const T &value) {{
    uint8_t bytes[sizeof value];
    memcpy(bytes, &value, sizeof value);
    for (const auto byte : bytes) printf("%02x", static_cast<unsigned>(byte));
}}
int main() {{
    {"static uint64_t arena[(NET_ARENA_BYTES + 7) / 8];" if arena else ""}
    mote::net_model model{"(arena)" if arena else ""};
    if (!model || model.started() != mote::status::ok || mote::net_model::check() != mote::status::ok) return 1;
    for (int n = 0; n < {count}; n++) {{
        {"" if plan.pushed else fills}
        const mote::status status = {call};
        if (status != mote::status::ok && status != mote::status::waiting) return 2;
        {prints}
        puts(status == mote::status::ok ? "" : "waiting");
    }}
    return 0;
}}
"""


def check(compiled: Compiled, cc: str, folder: Path) -> None:
    graph = compiled.plan.graph
    count = 3 + graph.warm_up
    compiled.write(folder)
    (folder / "firmware.cpp").write_text(firmware(compiled, count))
    run(["gcc", "-std=c99", "-O0", "-I.", "-c", "net.c", "-o", "net.o"], folder)
    run([compiler_or_skip(cc), *CPP, *STRICT, "-c", "firmware.cpp", "-o", "firmware.o"], folder)
    symbols = run(["nm", "firmware.o"], folder)
    assert not any(word in symbols for word in ("_Zn", "_Zd", "__cxa_throw", "_ZTI", "__cxa_allocate"))
    run([cc, "firmware.o", "net.o", "-o", "firmware", "-lm"], folder)
    printed = run(["./firmware"], folder).splitlines()
    for n, values in enumerate(outputs(graph, list(stimuli(graph, count)))):
        line = printed[n]
        if n + 1 < graph.warm_up:
            assert line.endswith("waiting")
            continue
        got = np.frombuffer(bytes.fromhex(line), values[0].dtype)
        wanted = np.concatenate([v.reshape(-1) for v in values])
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-6 if got.dtype == np.float32 else 0)


CASES = [(form, cc) for form in FORMS for cc in ("g++", "clang++")]


@pytest.mark.parametrize(("form", "cc"), soaked(CASES, [("instance, caller arena", "clang++"), ("stream", "g++")]))
def test_the_class_gives_what_the_reference_gives(form: str, cc: str, tmp_path: Path) -> None:
    check(compiled_as(form), cc, tmp_path)


USE = """
#include <array>
#include <vector>
#ifdef __cpp_lib_span
#include <span>
#endif
#include <string.h>
#include "net.hpp"
#define REQUIRE(fact) do { if (!(fact)) return __LINE__; } while (0)
int main() {
    using mote::status;
    mote::net_model model;
    REQUIRE(model && !model.input().empty() && model.input().size() == mote::net_model::input_size);
    std::array<float, mote::net_model::input_size> zeros{};
    const std::vector<float> few(3);
    REQUIRE(model.quantize_input(zeros) == status::ok && model.quantize_input(few) == status::bad_size);
    for (const int8_t element : model.input()) REQUIRE(element == model.input_zero_point);
    REQUIRE(mote::net_model::quantize(0.0f) == model.input_zero_point);
    while (model.step() == status::busy) { }
    size_t best[3];
    REQUIRE(!strcmp(mote::net_model::label(7), "class 7") && mote::net_model::label(8)[0] == 0);
    REQUIRE(model.top_k(best) == 3 && best[0] == model.top1());
    REQUIRE(model.dequantize(model.output()[best[0]]) >= model.dequantize(model.output()[best[2]]));
#ifdef __cpp_lib_span
    const std::span<const int8_t> scores = model.output();
    const std::span<int8_t> given = model.input();
    REQUIRE(scores.size() == model.output().size() && scores.data() == model.output().data());
    const mote::view<const int8_t> back = given;
    REQUIRE(back.data() == model.input().data());
#endif
    mote::net_model other;
#ifdef STATIC
    REQUIRE(!other && other.started() == status::not_ready && other.run() == status::not_ready);
    REQUIRE(other.input().empty() && other.output().empty() && other.top1() == other.output_size);
    REQUIRE(other.quantize_input(zeros) == status::not_ready && other.step() == status::not_ready);
    REQUIRE(model.run() == status::ok);
#else
    REQUIRE(other && other.input().data() != model.input().data());
    other.input()[0] = 5;
    mote::net_model copy(other);
    REQUIRE(copy.input()[0] == 5 && copy.run() == status::ok && other.run() == status::ok);
    REQUIRE(memcmp(copy.output().data(), other.output().data(), copy.output_size) == 0);
#endif
    return 0;
}
"""
AGAIN = """
#include "net.hpp"
int main() {
    { mote::net_model model; if (!model) return 1; }
    mote::net_model model;
    return model.run() == mote::status::ok ? 0 : 2;
}
"""


STANDARDS = [("c++17", "g++"), ("c++20", "g++"), ("c++20", "clang++")]


@pytest.mark.slow
@pytest.mark.parametrize(("standard", "cc"), STANDARDS)
def test_views_and_ownership(standard: str, cc: str, tmp_path: Path) -> None:
    """Containers become views and views spans; the static model has one object at a time, and the next one after it."""
    compiler_or_skip(cc)
    for instances in (False, True):
        folder = tmp_path / str(instances)
        labels = tuple(f"class {i}" for i in range(8))
        compile(small(), name="net", cpp=True, instances=instances, labels=labels).write(folder)
        run(["gcc", "-std=c99", "-I.", "-c", "net.c", "-o", "net.o"], folder)
        for text in (USE, AGAIN)[: 1 if instances else 2]:
            (folder / "use.cpp").write_text(text)
            flags = [*CPP, *STRICT, f"-std={standard}", *([] if instances else ["-DSTATIC"])]
            run([cc, *flags, "use.cpp", "net.o", "-o", "use"], folder)
            run(["./use"], folder)


def test_a_status_is_not_ignored(tmp_path: Path) -> None:
    compiled_as("static").write(tmp_path)
    (tmp_path / "ignore.cpp").write_text('#include "net.hpp"\nvoid f(mote::net_model &m) { m.run(); }\n')
    command = [compiler_or_skip("g++"), *CPP, "-Werror", "-fsyntax-only", "ignore.cpp"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0 and "nodiscard" in done.stderr


def test_cross_compiles(tmp_path: Path) -> None:
    """Beside another model, without any file of a C++ library."""
    compiler = compiler_or_skip("arm-none-eabi-g++")
    compiled_as("stream").write(tmp_path / "stream")
    compile(DIGITS, cpp=True, input="rows").write(tmp_path / "digits")
    text = '#include "digits/digits.hpp"\n#include "stream/net.hpp"\nbool f() { return bool(mote::net_model()); }\n'
    text += "bool g(mote::digits_model &m) { return m.step() == mote::status::ok; }\n"
    (tmp_path / "both.cpp").write_text(text)
    run([compiler, "-mcpu=cortex-m4", *CPP, *STRICT, "-nostdinc++", "-c", "both.cpp", "-o", "both.o"], tmp_path)
