"""Rust: a `no_std` crate without dependencies and with a safe wrapper; its build.rs compiles the C."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from mote.compiler.emit.c.model.conversions import is_quantized
from mote.compiler.emit.c.model.interface import Interface
from mote.compiler.emit.c.model.ports import CPort
from mote.compiler.emit.c.programs.example import class_labels, is_class
from mote.compiler.emit.image.c_array import state_bytes
from mote.compiler.emit.image.format import HEADER
from mote.compiler.emit.licence import SPDX
from mote.compiler.package.description import Files, Package
from mote.compiler.package.libraries.layout import in_memory_of_the_caller, self_contained
from mote.compiler.package.readme import readme
from mote.compiler.package.templates import filled
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType

_HERE = Path(__file__).parent
EXAMPLE = "examples/classify.rs"
OLDEST = "1.63"
"""The oldest Rust compiler that the crate is tested with."""
TYPES = {
    DType.INT8: "i8",
    DType.UINT8: "u8",
    DType.INT16: "i16",
    DType.UINT16: "u16",
    DType.INT32: "i32",
    DType.UINT32: "u32",
    DType.INT64: "i64",
    DType.UINT64: "u64",
    DType.FLOAT32: "f32",
    DType.BOOL: "u8",
}
KEYWORDS = frozenset(
    """as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move
    mut pub ref return self static struct super trait true type unsafe use where while abstract become box do final
    macro override priv typeof unsized virtual yield try test core std alloc build""".split()  # noqa: SIM905
)


def files(package: Package) -> Files:
    """The files of the crate."""
    self_contained(package, "Rust")
    in_memory_of_the_caller(package, "Rust")
    wrapper = _model(package) if package.interfaces else _runtime(package)
    code = {f"csrc/{file}": text for file, text in package.files.items() if file.endswith((".c", ".h"))}
    return {
        "Cargo.toml": _manifest(package),
        "README.md": _readme(package),
        **code,
        **wrapper,
        "build.rs": _build(package, [*package.sources, _shim(package)]),
    }


def crate(package: Package) -> str:
    """The name of the crate, changed if Cargo or Rust reserve it."""
    return f"{package.name}_model" if package.name.lower() in KEYWORDS else package.name


def _shim(package: Package) -> str:
    """Name of the C file with functions that Rust declares."""
    return f"{package.name}_rust.c"


def _manifest(package: Package) -> str:
    about = package.metadata
    author = f"{about.author} <{about.email}>" if about.email else about.author
    url = f"repository = {_toml(about.url)}\n" if about.url else ""
    return f"""\
# {SPDX}
[package]
name = {_toml(crate(package))}
version = {_toml(about.version)}
authors = [{_toml(author)}]
description = {_toml(package.summary)}
license = {_toml(about.license)}
{url}edition = "2021"
rust-version = {_toml(OLDEST)}
links = {_toml(package.name)}
build = "build.rs"
readme = "README.md"
keywords = ["embedded", "no_std", "tinyml", "neural-network", "inference"]
categories = ["embedded", "no-std"]

[lib]
name = {_toml(crate(package))}
doctest = false
"""


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _build(package: Package, sources: list[str]) -> str:
    told = [flag for flag in package.flags if flag]
    core = [] if package.target.is_host else [flag for flag in package.target.gcc_flags if flag.startswith("-m")]
    lists = {"SOURCES": sources, "FLAGS": told, "CORE": core}
    values = {key: ", ".join(map(_toml, items)) for key, items in lists.items()}
    native = "true" if package.target.is_native else "false"
    text = filled(_HERE / "build.rs", {**values, "NAME": package.name, "NATIVE": native})
    return f"// {SPDX}\n{text}"


def _readme(package: Package) -> str:
    name = crate(package)
    return readme(
        package,
        f"""
A `no_std` crate without dependencies; `build.rs` compiles the C with the C compiler of the target (`arm-none-eabi-gcc`,
`riscv64-unknown-elf-gcc`, `cc`, or `CC` and `CFLAGS`).

    [dependencies]
    {name} = {{ path = "{name}" }}

`cargo run --example classify` runs the example on this computer; `src/lib.rs` begins with what firmware does.
""",
    )


def _runtime(package: Package) -> Files:
    lib = filled(_HERE / "runtime.rs", {"SUMMARY": package.summary, "CRATE": crate(package)})
    shim = (_HERE / "runtime.c").read_text(encoding="utf-8")
    return {
        "src/lib.rs": f"// {SPDX}\n{lib}",
        f"csrc/{_shim(package)}": f"/* {SPDX} */\n{shim}",
        EXAMPLE: _runtime_example(package),
        "examples/model.mote": package.image,
    }


def _runtime_example(package: Package) -> str:
    """The example of the runtime, for an image with int8 inputs and outputs, such as the bundled model's."""
    runs, header = package.example.runs, HEADER.unpack(package.image)
    inputs = "".join(f"    [{_values(np.frombuffer(run.inputs[0].tobytes(), np.uint8))}],\n" for run in runs)
    name = package.example.lines[0].split()[0]
    return f"""\
// {SPDX}
//! Runs an image on a few inputs and prints the classes. Yours to edit.
use {crate(package)}::{{Image, Interpreter, Status}};

static IMAGE: Image<[u8; {len(package.image)}]> = Image(*include_bytes!("model.mote"));
const INPUTS: [[u8; {runs[0].inputs[0].nbytes}]; {len(runs)}] = [
{inputs}];

fn main() -> Result<(), Status> {{
    let mut memory = [0u64; {-(-header["arena"][0] // 8)}];
    let mut state = [0u64; {state_bytes(header) // 8}];
    let mut model = Interpreter::new(&IMAGE.0, &mut memory, &mut state)?;
    for run in 0..{len(runs)} {{
        model.input(0).expect("an input").copy_from_slice(&INPUTS[run]);
        model.invoke()?;
        let scores: Vec<i8> = model.output(0).expect("an output").iter().map(|&byte| byte as i8).collect();
        let best = (1..scores.len()).fold(0, |best, i| if scores[i] > scores[best] {{ i }} else {{ best }});
        println!("{name} {{}}: class {{}}, score {{}}", run, best, scores[best]);
    }}
    Ok(())
}}
"""


def _model(package: Package) -> Files:
    head = f"// {SPDX}\n//! {package.summary}.\n"
    shared = (_HERE / "status.rs").read_text(encoding="utf-8")
    parts = "\n".join(_wrapper(interface) for interface in package.interfaces)
    usage = _usage(package, package.interfaces[0])
    shims = "\n".join(_shims(interface) for interface in package.interfaces)
    includes = "\n".join(f'#include "{header}"' for header in package.headers)
    return {
        "src/lib.rs": f"{head}{usage}#![no_std]\n\n{shared}\n{parts}",
        f"csrc/{_shim(package)}": f"/* {SPDX} */\n{SHIMS}{includes}\n\n{shims}",
        EXAMPLE: _example(package, package.interfaces),
    }


SHIMS = "/* The model's functions with types that Rust declares: status as uint32_t, an instance as bytes. */\n"


def _usage(package: Package, i: Interface) -> str:
    given, wanted = i.inputs[0], i.outputs[0]
    run = f"model.input{given.suffix}().copy_from_slice(data);\n//!     model.run()?;"
    elements = f"[{_type(given)}]" if i.rows else f"[{_type(given)}; {_elements(given)}]"
    return f"""\
//!
//! ```no_run
//! use {crate(package)}::{{{_struct(i)}, Status}};
//!
//! /// The memory is `{_struct(i)}::new()`: a local variable, or a part of a task's state.
//! fn infer(memory: &mut {_struct(i)}, data: &{elements}) -> Result<[{_type(wanted)}; {_elements(wanted)}], Status> {{
//!     let mut model = memory.init()?;
//!     {"model.push(data)?;" if i.rows else run}
//!     Ok(*model.output{wanted.suffix}())
//! }}
//! ```
"""


def _struct(i: Interface) -> str:
    """The name of a model's Rust type."""
    return "".join(part[:1].upper() + part[1:] for part in i.name.split("_") if part) or "Model"


def _shims(i: Interface) -> str:
    """The C functions of one model that Rust declares."""
    name = i.name
    calls: dict[str, list[str]] = {"init": [], "step": [], "check": []}
    calls |= {"push": ["const void *rows", "size_t count"]} if i.rows else {"run": []}
    if i.saved_bytes:
        calls |= {
            "reset": [],
            "save": ["void *state", "size_t bytes"],
            "restore": ["const void *state", "size_t bytes"],
        }
    lines = [f"typedef char {name}_rust_fits[sizeof({name}_t) <= {i.instance_bytes} ? 1 : -1];\n"]
    for function, more in calls.items():
        own = [] if function == "check" else [f"{name}_t *model"]
        signature = f"uint32_t {name}_rust_{function}({', '.join([*own, *more]) or 'void'})"
        given = ["model"] * bool(own)
        given += [f"({i.inputs[0].ctype.removeprefix('const ')} const *)rows", "count"] if function == "push" else []
        given += ["state", "bytes"] if function in ("save", "restore") else []
        body = f"return (uint32_t){name}_{function}({', '.join(given)});"
        lines.append(f"{signature};\n{signature} {{ {body} }}\n")
    return "\n".join(lines)


def _wrapper(i: Interface) -> str:
    """The safe wrapper of one model."""
    kind, name = _struct(i), i.name
    functions = "\n".join(_accessors(i))
    ports = (*(() if i.rows else i.inputs), *i.outputs)
    externs = "\n".join(
        f"    fn {port.function}(model: *{'mut' if port.is_input else 'const'} {kind}) ->"
        f" *{'mut' if port.is_input else 'const'} {_type(port)};"
        for port in ports
    )
    if i.rows:
        row = i.inputs[0].tensor.size // i.rows
        running = _PUSH.format(name=name, type=_type(i.inputs[0]), row=row)
        declared = (
            f"    fn {name}_rust_push(model: *mut {kind}, rows: *const {_type(i.inputs[0])}, count: usize) -> u32;"
        )
    else:
        running = _RUN.format(name=name)
        declared = f"    fn {name}_rust_run(model: *mut {kind}) -> u32;"
    keeping = ""
    if i.saved_bytes:
        keeping = _KEEP.format(name=name, bytes=i.saved_bytes)
        declared += f"""
    fn {name}_rust_reset(model: *mut {kind}) -> u32;
    fn {name}_rust_save(model: *mut {kind}, state: *mut u8, bytes: usize) -> u32;
    fn {name}_rust_restore(model: *mut {kind}, state: *const u8, bytes: usize) -> u32;"""
    return filled(
        _HERE / "model.rs",
        {
            "NAME": name,
            "KIND": kind,
            "BYTES": str(i.instance_bytes),
            "DECLARED": declared,
            "EXTERNS": externs,
            "FUNCTIONS": functions,
            "RUNNING": running,
            "KEEPING": keeping,
        },
    )


_RUN = """
    /// One inference. `Err(Status::WAITING)` while a stream has no outputs yet.
    pub fn run(&mut self) -> Result<(), Status> {{
        checked(unsafe {{ {name}_rust_run(self.memory) }})
    }}
"""
_PUSH = """
    /// Elements of a row of the input.
    pub const ROW: usize = {row};

    /// Passes the next rows of the input, whole ones. `Err(Status::WAITING)`: more rows are needed.
    pub fn push(&mut self, rows: &[{type}]) -> Result<(), Status> {{
        assert!(rows.len() % Self::ROW == 0, "whole rows are needed");
        checked(unsafe {{ {name}_rust_push(self.memory, rows.as_ptr(), rows.len() / Self::ROW) }})
    }}
"""
_KEEP = """
    /// Forgets everything, as after `init`.
    pub fn reset(&mut self) -> Result<(), Status> {{
        checked(unsafe {{ {name}_rust_reset(self.memory) }})
    }}

    /// Bytes of a saved state.
    pub const STATE: usize = {bytes};

    /// Copies the state.
    pub fn save(&mut self, state: &mut [u8; {bytes}]) -> Result<(), Status> {{
        checked(unsafe {{ {name}_rust_save(self.memory, state.as_mut_ptr(), {bytes}) }})
    }}

    /// Goes on from a saved state.
    pub fn restore(&mut self, state: &[u8; {bytes}]) -> Result<(), Status> {{
        checked(unsafe {{ {name}_rust_restore(self.memory, state.as_ptr(), {bytes}) }})
    }}
"""


def _type(port: CPort) -> str:
    return TYPES.get(port.tensor.dtype, "f32")


def _elements(port: CPort) -> int:
    """Number of elements of an input or output in Rust: two floats per complex number."""
    return port.tensor.size * (2 if port.tensor.dtype == DType.COMPLEX64 else 1)


def _accessors(i: Interface) -> list[str]:
    """The Rust methods for inputs and outputs."""
    parts = []
    for port in () if i.rows else i.inputs:
        parts.append(f"""\
    /// The input `{_comment(port.tensor.name)}`, shape {list(port.tensor.shape)}: write it before a run.
    pub fn input{port.suffix}(&mut self) -> &mut [{_type(port)}; {_elements(port)}] {{
        // After init the address is that of as many elements in the memory, which is borrowed.
        unsafe {{ &mut *{port.function}(self.memory).cast() }}
    }}
""")
    for port in i.outputs:
        parts.append(f"""\
    /// The output `{_comment(port.tensor.name)}`, shape {list(port.tensor.shape)}: valid after a run.
    pub fn output{port.suffix}(&self) -> &[{_type(port)}; {_elements(port)}] {{
        unsafe {{ &*{port.function}(self.memory).cast() }}
    }}
""")
        if port.tensor.size > 1 and port.tensor.dtype != DType.COMPLEX64:
            parts.append(_ranking(port))
    parts += [_quantizing(port) for port in (*i.inputs, *i.outputs) if is_quantized(port)]
    return parts


def _ranking(port: CPort) -> str:
    above = "scores[i] > scores[best]"
    if port.tensor.dtype == DType.FLOAT32:
        above += " || (scores[best].is_nan() && !scores[i].is_nan())"
    text = f"""\
    /// The index of the greatest element of the output, the lowest of equals; NaN is less than any number.
    pub fn top1{port.suffix}(&self) -> usize {{
        let scores = self.output{port.suffix}();
        (1..scores.len()).fold(0, |best, i| if {above} {{ i }} else {{ best }})
    }}
"""
    if port.labels:
        names = ", ".join(map(_text, port.labels))
        text += f"""
    /// The labels of the elements of the output.
    pub const LABELS{port.suffix.upper()}: [&'static str; {len(port.labels)}] = [{names}];
"""
    return text


def _text(text: str) -> str:
    """A Rust string literal."""
    plain = (c if c.isprintable() and c not in '"\\' else f"\\u{{{ord(c):x}}}" for c in text)
    return f'"{"".join(plain)}"'


def _quantizing(port: CPort) -> str:
    """The Rust function that converts between floats and elements, equal to the one in the C header."""
    assert port.tensor.quant is not None
    scale, zero, kind = f"{port.tensor.quant.scale[0]!s}_f32", port.tensor.zero_point, _type(port)
    least, most = port.tensor.dtype.limits
    if not port.is_input:
        return f"""\
    /// The float that an element of the output stands for.
    pub fn dequantize{port.suffix}(element: {kind}) -> f32 {{
        {scale} * (i32::from(element) - ({zero})) as f32
    }}
"""
    return f"""\
    /// A float as an element of the input: rounded to the nearest, halves away from zero; saturated. NaN becomes what 0
    /// does.
    pub fn quantize{port.suffix}(value: f32) -> {kind} {{
        let steps = value / {scale};
        if steps.is_nan() {{
            return {zero};
        }}
        if steps <= {least - zero}.0_f32 {{
            return {least};
        }}
        if steps >= {most - zero}.0_f32 {{
            return {most};
        }}
        let whole = steps as i32;
        let rest = steps - whole as f32;
        let away = if rest >= 0.5 {{ 1 }} else if rest <= -0.5 {{ -1 }} else {{ 0 }};
        (whole + away + ({zero})) as {kind}
    }}
"""


def _comment(text: str) -> str:
    return "".join(c if " " <= c <= "~" else "?" for c in text[:100])


def _example(package: Package, interfaces: tuple[Interface, ...]) -> str:
    if len(interfaces) > 1 or not package.example.runs:
        names = ", ".join(_struct(i) for i in interfaces)
        made = "\n".join(
            f'    let mut memory = {_struct(i)}::new();\n    println!("{i.name}: {{:?}}", memory.init().is_ok());'
            for i in interfaces
        )
        return f"// {SPDX}\n//! Begins every model.\nuse {crate(package)}::{{{names}}};\n\nfn main() {{\n{made}\n}}\n"
    (i,) = interfaces
    runs = package.example.runs
    arrays = "".join(
        f"const INPUT{port.suffix.upper()}: [[{_type(port)}; {_elements(port)}]; {len(runs)}] = [\n"
        + "".join(f"    [{_values(run.inputs[n])}],\n" for run in runs)
        + "];\n"
        for n, port in enumerate(i.inputs)
    )
    if i.rows:
        feed = "        let result = model.push(&INPUT[run]);\n"
    else:
        feed = "".join(f"        *model.input{p.suffix}() = INPUT{p.suffix.upper()}[run];\n" for p in i.inputs)
        feed += "        let result = model.run();\n"
    shown = "".join(_printed(i, n, port) for n, port in enumerate(i.outputs))
    labelled = [f"{_struct(i)}Model"] if any(map(class_labels, i.outputs)) else []
    used = ", ".join([_struct(i), *labelled, "Status"])
    return f"""\
// {SPDX}
//! Runs the model on a few inputs and prints the classes. Yours to edit.
use {crate(package)}::{{{used}}};

{arrays}
fn main() -> Result<(), Status> {{
    let mut memory = {_struct(i)}::new();
    let mut model = memory.init()?;
    for run in 0..{len(runs)} {{
{feed}        if result == Err(Status::WAITING) {{
            println!("{i.name} {{run}}: waiting");
            continue;
        }}
        result?;
{shown}    }}
    Ok(())
}}
"""


def _printed(i: Interface, n: int, port: CPort) -> str:
    which = f" output {n}" if len(i.outputs) > 1 else ""
    value = "{:.3}" if port.tensor.dtype.real else "{}"
    if not is_class(port):
        return f'        println!("{i.name} {{}}{which}: value {value}", run, model.output{port.suffix}()[0]);\n'
    label, given = "", ""
    if class_labels(port):
        label, given = " ({})", f", {_struct(i)}Model::LABELS{port.suffix.upper()}[best]"
    return (
        f"        let best = model.top1{port.suffix}();\n"
        f'        println!("{i.name} {{}}{which}: class {{}}{label}, score {value}", run, best{given},'
        f" model.output{port.suffix}()[best]);\n"
    )


def _values(values: Array) -> str:
    flat = values.reshape(-1)
    if values.dtype.kind in "fc":
        floats = (str(x) if "." in str(x) or "e" in str(x) else f"{x}.0" for x in flat.view(values.real.dtype))
        return ", ".join(floats)
    return ", ".join(str(int(x)) for x in flat)
