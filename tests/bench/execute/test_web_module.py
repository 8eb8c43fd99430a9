"""Models as WebAssembly: a browser computes what the C computes on this computer, for models of any core."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

import numpy as np
import pytest

import mote
from mote import compile
from mote.base.errors import MoteError
from mote.bench.execute.host_library import HostModel
from mote.bench.execute.stimuli import stimuli
from mote.bench.execute.web_module import web_module
from mote.hardware.toolchain import wasm
from mote.hardware.toolchain.compilers import Compiler, version_of, zig_command
from tests.helpers.browser import Browser

MODELS = Path(__file__).parents[3] / "models"
RUN = """async (module, cases) => {
    const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const compiled = await WebAssembly.compile(bytes(module));
    if (WebAssembly.Module.imports(compiled).length) throw new Error("it imports something");
    const { memory, harness_init, harness_input, harness_output, harness_run } =
        (await WebAssembly.instantiate(compiled)).exports;
    const outputs = [];
    for (const { input, size } of cases) {
        if (harness_init() !== 0) throw new Error("init");
        new Uint8Array(memory.buffer).set(bytes(input), harness_input(0));
        if (harness_run() !== 0) throw new Error("run");
        outputs.push(String.fromCharCode(...new Uint8Array(memory.buffer, harness_output(0), size)));
    }
    return outputs.map(btoa);
}"""

needs_zig = pytest.mark.skipif(zig_command() is None, reason="ziglang is not installed")


def run_in(browser: Browser, compiled: mote.Compiled, count: int, compiler: Compiler | None = None) -> None:
    graph = compiled.plan.graph
    cases = stimuli(graph, count)
    (wanted,) = HostModel(compiled).run(cases)
    size = graph.tensors[graph.outputs[0]].nbytes
    given = [{"input": base64.b64encode(case[graph.inputs[0]].tobytes()).decode(), "size": size} for case in cases]
    module = base64.b64encode(web_module(compiled, compiler)).decode()
    with browser.open("<title>module</title>") as page:
        made = page.evaluate(RUN, module, given)
    got = np.stack([np.frombuffer(base64.b64decode(text), wanted.dtype) for text in made])
    assert np.array_equal(got, wanted.reshape(got.shape))


@needs_zig
@pytest.mark.parametrize(
    "target",
    [
        "cortex-m55",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("atmega2560", "cortex-m4", "rv32imc", "native")),
    ],
)
def test_integers_are_those_of_the_c_for_any_core(browser: Browser, target: str) -> None:
    run_in(browser, compile(MODELS / "digits.tflite", target=target), 64)


@needs_zig
@pytest.mark.parametrize("name", ["digits_float.tflite", pytest.param("keywords.tflite", marks=pytest.mark.slow)])
def test_models_with_more_code(browser: Browser, name: str) -> None:
    run_in(browser, compile(MODELS / name, target="cortex-m4"), 16)


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("clang") and shutil.which("wasm-ld")), reason="clang or lld is not installed")
def test_clang_will_do(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wasm, "zig_command", lambda: None)
    compiler = wasm.find_wasm_compiler()
    assert compiler == Compiler("clang", ("clang",), version_of(("clang", "--version")))
    run_in(browser, compile(MODELS / "digits.tflite", target="cortex-m4"), 8, compiler)


def test_without_a_compiler_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wasm, "zig_command", lambda: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(MoteError, match="no C compiler for WebAssembly") as raised:
        web_module(compile(MODELS / "digits.tflite", target="host"))
    assert "moteml[zig]" in raised.value.remedy and "lld" in raised.value.remedy


def test_a_page_gets_no_key_of_encrypted_weights(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(bytes(range(16)))
    with pytest.raises(MoteError, match="would show the key"):
        web_module(compile(MODELS / "digits.tflite", target="cortex-m4", encrypt=str(key)))
