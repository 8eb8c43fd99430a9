"""The Rust package: cargo builds it, its example prints the classes, on the host and on an emulated Cortex-M4."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mote.base.errors import MoteError
from mote.compiler.line import compile
from mote.deploy.runtime import runtime
from tests.helpers.network import Net
from tests.helpers.support import needs

MODELS = Path(__file__).parents[3] / "models"
NAMES = ["null", 'one "1"', "zwei", "drei", "vier", "fünf", "six\\", "sept", "huit", "nine"]
DIGITS, KEYWORDS = MODELS / "digits.tflite", MODELS / "keywords.tflite"
TRIPLE = "thumbv7em-none-eabihf"
CORE_FLAGS = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]


def run(*command: str, cwd: Path, **environment: str) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def example(folder: Path) -> list[str]:
    needs("cargo", "rustc", "cc")
    return run("cargo", "run", "-q", "--offline", "--example", "classify", cwd=folder).splitlines()


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (DIGITS, {"labels": NAMES}),
        *(
            pytest.param(model, options, marks=pytest.mark.slow)
            for model, options in (
                (KEYWORDS, {"stream": 1, "causal": True}),
                (KEYWORDS, {"input": "rows"}),
                (MODELS / "digits_float.tflite", {}),
            )
        ),
    ],
)
def test_the_example_prints_the_classes(model: Path, options: dict[str, Any], tmp_path: Path) -> None:
    compiled = compile(model, instances=True, **options)
    compiled.write(tmp_path, ["rust"])
    assert example(tmp_path) == list(compiled.package.example.lines)


PAGE = Path(__file__).parents[3] / "docs" / "deploy" / "packages" / "rust.md"


def snippets(text: str) -> list[str]:
    """The blocks of Rust in Markdown, or in the documentation of a crate."""
    return re.findall(r"^```(?:rust|no_run)\n(.*?)^```$", re.sub(r"^//! ?", "", text, flags=re.M), re.M | re.S)


def test_the_snippets_of_the_page_run(tmp_path: Path) -> None:
    needs("cargo", "rustc", "cc")
    compiled = compile(DIGITS, target="cortex-m4", instances=True)
    assert f"{compiled.package.interfaces[0].instance_bytes:,} bytes" in PAGE.read_text(encoding="utf-8")
    compile(DIGITS, instances=True).write(tmp_path, ["rust"])
    (snippet,) = snippets(PAGE.read_text(encoding="utf-8"))
    (tmp_path / "examples" / "page.rs").write_text(snippet, encoding="utf-8")
    assert run("cargo", "run", "-q", "--offline", "--example", "page", cwd=tmp_path).startswith("class ")


@pytest.mark.parametrize("which", ["array", "rows", "several", pytest.param("runtime", marks=pytest.mark.slow)])
def test_the_beginning_of_the_crate_compiles(which: str, tmp_path: Path) -> None:
    """The documentation of src/lib.rs: by arrays, by rows, with names that end in a number, and of the runtime."""
    needs("cargo", "rustc", "cc")
    net = Net()
    x, y = net.input(1, 4), net.input(1, 4)
    several = net.finish(net.add(x, y), net.op("RELU", [x]))
    makes: dict[str, Callable[[], Any]] = {
        "array": lambda: compile(DIGITS, instances=True),
        "rows": lambda: compile(KEYWORDS, instances=True, input="rows"),
        "several": lambda: compile(several, instances=True, name="several"),
        "runtime": lambda: runtime("minimal"),
    }
    makes[which]().write(tmp_path, ["rust"])
    (snippet,) = snippets((tmp_path / "src" / "lib.rs").read_text(encoding="utf-8"))
    text = f"#![allow(dead_code)]\n{snippet}\nfn main() {{}}\n"
    (tmp_path / "examples" / "usage.rs").write_text(text, encoding="utf-8")
    run("cargo", "check", "-q", "--offline", "--example", "usage", cwd=tmp_path)


@pytest.mark.slow
def test_the_example_of_the_runtime_prints_the_classes(tmp_path: Path) -> None:
    made = runtime("minimal")
    made.write(tmp_path, ["rust"])
    assert example(tmp_path) == list(made.package.example.lines)


def test_a_model_with_variables_of_its_own_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MoteError, match="instances=True"):
        compile(DIGITS).write(tmp_path / "a", ["rust"])
    with pytest.raises(MoteError, match="part of its memory"):
        compile(DIGITS, instances=True, caller_arena=True).write(tmp_path / "a", ["rust"])
    assert list(tmp_path.iterdir()) == []


FIRMWARE = """\
#![no_std]
use digits::Digits;
const INPUT: [[i8; 64]; RUNS] = [INPUTS];
static mut MEMORY: Digits = Digits::new();
extern "C" {
    fn report(run: i32, class: i32, score: i32);
    fn abort() -> !;
}
#[panic_handler]
fn panicked(_: &core::panic::PanicInfo) -> ! {
    unsafe { abort() }
}
#[no_mangle]
pub extern "C" fn main() -> i32 {
    let memory = unsafe { &mut *core::ptr::addr_of_mut!(MEMORY) };
    let mut model = match memory.init() {
        Ok(model) => model,
        Err(status) => return status.0 as i32,
    };
    for run in 0..RUNS {
        *model.input() = INPUT[run];
        if model.run().is_err() {
            return 1;
        }
        let best = model.top1();
        unsafe { report(run as i32, best as i32, i32::from(model.output()[best])) };
    }
    0
}
"""
PORT = """\
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
extern void _start(void);
void report(int32_t run, int32_t class, int32_t score);
void report(int32_t run, int32_t class, int32_t score) {
    printf("digits %d: class %d, score %d\\n", (int)run, (int)class, (int)score);
}
void begin(void);
void begin(void) {
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; /* the FPU */
    __asm__ volatile("dsb\\nisb");
    _start();
}
void *const vectors[2] __attribute__((section(".vectors"), used)) = {(void *)0x20400000, (void *)begin};
"""


@pytest.mark.slow
def test_firmware_in_rust_on_an_emulated_cortex_m4(tmp_path: Path) -> None:
    """The crate and Rust's own core library, which is built for this, in a firmware that QEMU runs."""
    needs("rustc", "arm-none-eabi-gcc", "qemu-system-arm")
    core = (
        Path(run("rustc", "--print", "sysroot", cwd=tmp_path).strip()) / "lib/rustlib/src/rust/library/core/src/lib.rs"
    )
    if not core.is_file():
        pytest.skip("the source of Rust's core library is not installed (rust-src)")
    compiled = compile(DIGITS, target="cortex-m4", instances=True)
    compiled.write(tmp_path / "digits", ["rust"])
    runs = compiled.package.example.runs
    inputs = ", ".join(str(run.inputs[0].reshape(-1).tolist()) for run in runs)
    text = FIRMWARE.replace("INPUTS", inputs).replace("RUNS", str(len(runs)))
    (tmp_path / "main.rs").write_text(text)
    (tmp_path / "port.c").write_text(PORT)
    rust = ["rustc", "--edition", "2021", "--target", TRIPLE, "-C", "opt-level=2", "-C", "panic=abort", "-L", "."]
    boot = {"RUSTC_BOOTSTRAP": "1"}
    run(*rust, "--crate-type", "rlib", "--crate-name", "core", "-A", "warnings", str(core), cwd=tmp_path, **boot)
    extern = ["--sysroot", "none", "--extern", "core=libcore.rlib"]
    (tmp_path / "compiler_builtins.rs").write_text(
        "#![feature(compiler_builtins)]\n#![compiler_builtins]\n#![no_std]\n"
    )
    run(*rust, *extern, "--crate-type", "rlib", "compiler_builtins.rs", cwd=tmp_path, **boot)
    run(
        *(*rust, *extern, "--crate-type", "rlib", "--crate-name", "digits", "digits/src/lib.rs"),
        cwd=tmp_path,
        **boot,
    )
    needed = [*extern, "--extern", "digits=libdigits.rlib", "--extern", "compiler_builtins=libcompiler_builtins.rlib"]
    run(*rust, *needed, "--crate-type", "staticlib", "-o", "libmain.a", "main.rs", cwd=tmp_path, **boot)
    sources = [f"digits/csrc/{name}" for name in (*compiled.package.sources, "digits_rust.c")]
    command = ["arm-none-eabi-gcc", *CORE_FLAGS, "-O2", "-Idigits/csrc", "port.c", *sources, "libmain.a"]
    link = [
        "--specs=rdimon.specs",
        "-Wl,--gc-sections,--undefined=vectors,--section-start=.vectors=0,-Tdata=0x20000000",
    ]
    run(*command, *link, "-o", "firmware.elf", cwd=tmp_path)
    qemu = ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", "none"]
    printed = run(*qemu, "-semihosting", "-kernel", "firmware.elf", cwd=tmp_path)
    assert printed.splitlines() == list(compiled.package.example.lines)
