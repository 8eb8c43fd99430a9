"""MicroPython: a native module (.mpy) that MicroPython's own build files compile from C, with a Python class."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mote.base.errors import MoteError
from mote.compiler.emit.c.model.conversions import is_quantized
from mote.compiler.emit.c.model.interface import Interface
from mote.compiler.emit.c.model.ports import CPort
from mote.compiler.emit.c.programs.example import class_labels, is_class
from mote.compiler.emit.licence import SPDX
from mote.compiler.package.description import Files, Package
from mote.compiler.package.libraries.layout import in_memory_of_the_caller, self_contained
from mote.compiler.package.readme import readme
from mote.compiler.package.templates import filled
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType

_HERE = Path(__file__).parent
EXAMPLE = "example.py"
CODES = {
    DType.INT8: "b",
    DType.UINT8: "B",
    DType.BOOL: "B",
    DType.INT16: "h",
    DType.UINT16: "H",
    DType.INT32: "i",
    DType.UINT32: "I",
    DType.INT64: "q",
    DType.UINT64: "Q",
    DType.FLOAT32: "f",
    DType.COMPLEX64: "f",
}
"""Type codes of `array.array`."""
CORES = {
    "cortex-m0": "armv6m",
    "cortex-m0plus": "armv6m",
    "cortex-m23": "armv6m",
    "cortex-m3": "armv7m",
    "cortex-m4": "armv7emsp",
    "cortex-m33": "armv7emsp",
    "cortex-m7": "armv7emsp",
}
ARCHITECTURES = {"host": "x64", "riscv": "rv32imc", "xtensa": "xtensawin"}
"""By architecture: the ARCH of MicroPython's build files."""


def files(package: Package) -> Files:
    """The files of the module."""
    self_contained(package, "MicroPython")
    in_memory_of_the_caller(package, "Python")
    if len(package.interfaces) > 1:
        raise MoteError(
            "several models in one module are not supported",
            where="package micropython",
            remedy="make a module of each model",
        )
    functions = _model_functions(package.interfaces[0]) if package.interfaces else RUNTIME_FUNCTIONS
    python = (
        _model_class(package, package.interfaces[0]) if package.interfaces else filled(_HERE / "interpreter.py.txt", {})
    )
    code = {name: text for name, text in package.files.items() if name.endswith((".c", ".h"))}
    name = package.name
    return {
        **code,
        f"{name}_module.c": _module(package, functions),
        f"{name}_python.py": f"# {SPDX}\n{python}",
        "Makefile": _makefile(package),
        "README.md": _readme(package),
        EXAMPLE: _example(package),
        **({"model.mote": package.image} if package.image else {}),
    }


def _architecture(package: Package) -> str:
    target = package.target
    if "mve" in target.features:
        raise MoteError(
            "MicroPython builds native modules for Armv7E-M at most, which has no Helium",
            where=f"package micropython for {target.name}",
            remedy="compile for --target cortex-m4 or cortex-m33",
        )
    return CORES.get(target.cpu) or ARCHITECTURES.get(target.arch, "armv7emsp")


def _makefile(package: Package) -> str:
    sources = " ".join((f"{package.name}_module.c", *package.sources, f"{package.name}_python.py"))
    flags = " ".join(package.needed)
    return f"""\
# {SPDX}
# Builds {package.name}.mpy: make MPY_DIR=/path/to/micropython ARCH={_architecture(package)}
# MPY_DIR is MicroPython's source, the release that the board runs, with mpy-cross built in it.
MPY_DIR ?= ../micropython
MOD = {package.name}
# The file with the entry point is the first one: MicroPython's linker wants it there.
SRC = {sources}
# armv6m, armv7m, armv7emsp (Cortex-M4, M33), armv7emdp (M7), rv32imc, xtensa, xtensawin, x64
ARCH ?= {_architecture(package)}
# Functions of libgcc: division, 64-bit numbers.
LINK_RUNTIME = 1
CFLAGS += {flags}
include $(MPY_DIR)/py/dynruntime.mk
"""


def _readme(package: Package) -> str:
    return readme(
        package,
        f"""
A native module of MicroPython. It has no variables: all that is written to lies in objects of Python's.

    make MPY_DIR=/path/to/micropython ARCH={_architecture(package)}
    mpremote cp {package.name}.mpy :
    mpremote run {EXAMPLE}
""",
    )


COMPARING = """
int strcmp(const char *a, const char *b) {
    while (*a != 0 && *a == *b) {
        a++;
        b++;
    }
    return (int)(unsigned char)*a - (int)(unsigned char)*b;
}

int memcmp(const void *a, const void *b, size_t bytes) {
    const uint8_t *const x = (const uint8_t *)a, *const y = (const uint8_t *)b;
    for (size_t i = 0; i < bytes; i++) {
        if (x[i] != y[i]) {
            return (int)x[i] - (int)y[i];
        }
    }
    return 0;
}
"""
"""Functions of the C library that the runtime calls and MicroPython lacks."""

Functions = Mapping[str, tuple[int, str]]
"""By name of a function in the module: the number of its arguments `a`, `b`, ..., and its body in C."""


def _module(package: Package, functions: Functions) -> str:
    names = "abcd"
    made = ""
    for name, (count, body) in functions.items():
        given = ", ".join(f"mp_obj_t {letter}" for letter in names[:count])
        made += f"static mp_obj_t module_{name}({given or 'void'}) {{\n{body}}}\n"
        made += f"static MP_DEFINE_CONST_FUN_OBJ_{count}(module_{name}_obj, module_{name});\n\n"
    stored = "".join(
        f"    mp_store_global(MP_QSTR__{name}, MP_OBJ_FROM_PTR(&module_{name}_obj));\n" for name in functions
    )
    includes = "\n".join(f'#include "{header}"' for header in package.headers)
    values = {"NAME": package.name, "INCLUDES": includes, "FUNCTIONS": made, "GLOBALS": stored}
    values["LIBRARY"] = "" if package.interfaces else COMPARING
    return f"/* {SPDX} */\n{filled(_HERE / 'module.c', values)}"


def _raised(message: str) -> str:
    """The C statement that raises a ValueError."""
    return f'mp_raise_ValueError(MP_ERROR_TEXT("{message}"));\n'


def _model_functions(i: Interface) -> Functions:
    name = i.name
    model = f"({name}_t *)aligned(a, sizeof({name}_t))"
    status = f"    return mp_obj_new_int((mp_int_t){name}_{{}}({model}));\n"
    writes = "".join(
        f"    case {n}:\n        return copied({port.function}({model}), c, {port.macro}_BYTES);\n"
        for n, port in enumerate(i.inputs)
    )
    reads = "".join(
        f"    case {n}:\n        return given(c, {port.function}({model}), {port.macro}_BYTES);\n"
        for n, port in enumerate(i.outputs)
    )
    choose = "    switch (mp_obj_get_int(b)) {{\n{}    default:\n        " + _raised("{}") + "    }}\n"
    functions = {
        "bytes": (0, f"    return mp_obj_new_int((mp_int_t)sizeof({name}_t) + 8);\n"),
        "init": (1, status.format("init")),
        "read": (3, choose.format(reads, "no such output") + "    return mp_const_none;\n"),
    }
    for port in filter(is_quantized, i.inputs):
        value = f"{port.named('quantize')}(mp_obj_get_float_to_f(a))"
        functions[f"quantize{port.suffix}"] = (1, f"    return mp_obj_new_int((mp_int_t){value});\n")
    for port in filter(is_quantized, i.outputs):
        value = f"{port.named('dequantize')}(({port.element})mp_obj_get_int(a))"
        functions[f"dequantize{port.suffix}"] = (1, f"    return mp_obj_new_float_from_f({value});\n")
    if i.rows:
        port = i.inputs[0]
        functions["push"] = (
            2,
            "    const mp_buffer_info_t info = buffer(b, MP_BUFFER_READ);\n"
            f"    if (info.len % {port.macro}_ROW_BYTES != 0) {{\n"
            f"        {_raised('no whole rows')}    }}\n"
            f"    return mp_obj_new_int((mp_int_t){name}_push({model}, (const {port.element} *)info.buf,"
            f" info.len / {port.macro}_ROW_BYTES));\n",
        )
    else:
        functions["write"] = (3, choose.format(writes, "no such input") + "    return mp_const_none;\n")
        functions["run"] = (1, status.format("run"))
    if i.saved_bytes:
        functions["reset"] = (1, status.format("reset"))
        for function, flags in (("save", "MP_BUFFER_WRITE"), ("restore", "MP_BUFFER_READ")):
            call = f"{name}_{function}({model}, info.buf, info.len)"
            info = f"    const mp_buffer_info_t info = buffer(b, {flags});\n"
            functions[function] = (2, f"{info}    return mp_obj_new_int((mp_int_t){call});\n")
    return functions


RUNTIME_FUNCTIONS: Functions = {
    "beyond": (1, "    return mp_obj_new_int((mp_int_t)((uintptr_t)buffer(a, MP_BUFFER_READ).buf % 8));\n"),
    "bytes": (0, "    return mp_obj_new_int((mp_int_t)sizeof(mote_interpreter_t) + 8);\n"),
    "needs": (
        2,
        """\
    const mp_buffer_info_t image = buffer(a, MP_BUFFER_READ);
    mote_needs_t needs;
    const mote_status status = mote_needs(image.buf, image.len, &needs);
    const mp_int_t which = mp_obj_get_int(b);
    if (status != MOTE_OK || needs.arena[1] != 0 || needs.arena[2] != 0 || needs.arena[3] != 0) {
        mp_raise_ValueError(MP_ERROR_TEXT("no image, or one for several memories"));
    }
    return mp_obj_new_int((mp_int_t)(which == 0 ? needs.arena[0] : needs.state));
""",
    ),
    "init": (
        3,
        """\
    const mp_buffer_info_t image = buffer(b, MP_BUFFER_READ), block = buffer(c, MP_BUFFER_RW);
    mote_memory_t memory = {{NULL, NULL, NULL, NULL}, {0, 0, 0, 0}, NULL, 0};
    memory.arena[0] = aligned(c, 8);
    memory.arena_bytes[0] = block.len - (size_t)((uint8_t *)memory.arena[0] - (uint8_t *)block.buf);
    return mp_obj_new_int((mp_int_t)mote_init((mote_interpreter_t *)aligned(a, sizeof(mote_interpreter_t)),
                                              &mote_kernels, image.buf, image.len, &memory, NULL));
""",
    ),
    "run": (
        1,
        """\
    mote_interpreter_t *const model = (mote_interpreter_t *)aligned(a, sizeof(mote_interpreter_t));
    return mp_obj_new_int((mp_int_t)mote_invoke(model));
""",
    ),
    "write": (
        3,
        """\
    mote_interpreter_t *const model = (mote_interpreter_t *)aligned(a, sizeof(mote_interpreter_t));
    const size_t index = (size_t)mp_obj_get_int(b);
    mote_tensor_t tensor;
    if (mote_input_info(model, index, &tensor) != MOTE_OK || mote_input(model, index) == NULL) {
        mp_raise_ValueError(MP_ERROR_TEXT("no such input"));
    }
    return copied(mote_input(model, index), c, tensor.bytes);
""",
    ),
    "read": (
        3,
        """\
    mote_interpreter_t *const model = (mote_interpreter_t *)aligned(a, sizeof(mote_interpreter_t));
    const size_t index = (size_t)mp_obj_get_int(b);
    mote_tensor_t tensor;
    if (mote_output_info(model, index, &tensor) != MOTE_OK || mote_output(model, index) == NULL) {
        mp_raise_ValueError(MP_ERROR_TEXT("no such output"));
    }
    return given(c, mote_output(model, index), tensor.bytes);
""",
    ),
    "output_bytes": (
        2,
        """\
    mote_interpreter_t *const model = (mote_interpreter_t *)aligned(a, sizeof(mote_interpreter_t));
    mote_tensor_t tensor;
    if (mote_output_info(model, (size_t)mp_obj_get_int(b), &tensor) != MOTE_OK) {
        mp_raise_ValueError(MP_ERROR_TEXT("no such output"));
    }
    return mp_obj_new_int((mp_int_t)tensor.bytes);
""",
    ),
}


def _model_class(package: Package, i: Interface) -> str:
    """The text of the Python class, which is merged into the module: names that begin with _ are C functions."""
    outputs = ", ".join(f'("{_code(port)}", {port.tensor.nbytes})' for port in i.outputs)
    constants = "".join(_quantization(port) for port in (*i.inputs, *i.outputs) if port.tensor.quant is not None)
    feed = (
        "        status = _push(self._memory, rows)\n"
        if i.rows
        else "        for index, data in enumerate(inputs):\n            _write(self._memory, index, data)\n"
        "        status = _run(self._memory)\n"
    )
    values = {
        "SUMMARY": package.summary,
        "LABELS": repr(_labels(i)),
        "CONSTANTS": constants,
        "OUTPUTS": outputs,
        "RUN": "push" if i.rows else "run",
        "GIVEN": "rows" if i.rows else "*inputs",
        "INPUT": "the next rows of the input" if i.rows else "the inputs",
        "FEED": feed,
        "KEEPING": _KEEPING.format(bytes=i.saved_bytes) if i.saved_bytes else "",
        "QUANTIZING": "".join(_conversions(port) for port in (*i.inputs, *i.outputs) if is_quantized(port)),
        "NAME": package.name,
    }
    return filled(_HERE / "model.py.txt", values)


_KEEPING = """
    def reset(self):
        \"\"\"Forgets everything.\"\"\"
        _checked(_reset(self._memory))

    def save(self):
        \"\"\"The state, as bytes.\"\"\"
        state = bytearray({bytes})
        _checked(_save(self._memory, state))
        return bytes(state)

    def restore(self, state):
        \"\"\"Goes on from a saved state.\"\"\"
        _checked(_restore(self._memory, state))
"""


def _labels(i: Interface) -> tuple[str, ...]:
    """The class names of the first output that has any."""
    return next((port.labels for port in i.outputs if port.labels), ())


def _code(port: CPort) -> str:
    return CODES[port.tensor.dtype]


def _prefix(port: CPort) -> str:
    return f"{'INPUT' if port.is_input else 'OUTPUT'}{port.suffix.upper()}"


def _quantization(port: CPort) -> str:
    if not is_quantized(port):
        return ""
    assert port.tensor.quant is not None
    prefix = _prefix(port)
    return f"{prefix}_SCALE = {port.tensor.quant.scale[0]!s}\n{prefix}_ZERO_POINT = {port.tensor.zero_point}\n"


def _conversions(port: CPort) -> str:
    suffix = port.suffix
    if not port.is_input:
        return f'''

def dequantize{suffix}(element):
    """The float that an element of the output stands for."""
    return _dequantize{suffix}(element)
'''
    return f'''

def quantize{suffix}(value):
    """A float as an element of the input: rounded to the nearest, saturated. NaN becomes what 0 does."""
    return _quantize{suffix}(value)
'''


def _example(package: Package) -> str:
    runs = package.example.runs
    module = package.name
    head = f"# {SPDX}\n# Runs the model on a few inputs and prints the classes. Yours to edit.\nimport array\n\n"
    if not package.interfaces:
        rows = "".join(f"    bytes({list(run.inputs[0].tobytes())}),\n" for run in runs)
        name = package.example.lines[0].split()[0]
        return (
            f"{head}import {module}\n\nINPUTS = (\n{rows})\n\n"
            f'with open("model.mote", "rb") as file:\n    model = {module}.Interpreter(file.read())\n'
            "for run, data in enumerate(INPUTS):\n"
            '    scores = array.array("b", model.run(data))\n'
            "    best = max(range(len(scores)), key=lambda i: (scores[i], -i))\n"
            f'    print("{name} %d: class %d, score %d" % (run, best, scores[best]))\n'
        )
    (i,) = package.interfaces
    given = (", ".join(_array(p, v) for p, v in zip(i.inputs, run.inputs, strict=True)) for run in runs)
    rows = "".join(f"    ({arrays},),\n" for arrays in given)
    lines = "".join(_printed(i, n, port, module) for n, port in enumerate(i.outputs))
    several = "" if len(i.outputs) > 1 else "    results = [results]\n"
    return (
        f"{head}import {module}\n\nINPUTS = (\n{rows})\n\nmodel = {module}.Model()\n"
        "for run, inputs in enumerate(INPUTS):\n"
        f"    results = model.{'push' if i.rows else 'run'}(*inputs)\n"
        "    if results is None:\n"
        f'        print("{i.name} %d: waiting" % run)\n'
        f"        continue\n{several}{lines}"
    )


def _printed(i: Interface, n: int, port: CPort, module: str) -> str:
    which = f" output {n}" if len(i.outputs) > 1 else ""
    form = "%.3f" if port.tensor.dtype.real else "%d"
    if not is_class(port):
        return f'    print("{i.name} %d{which}: value {form}" % (run, results[{n}][0]))\n'
    named = class_labels(port) and class_labels(port) == _labels(i)
    label, given = (" (%s)", f", {module}.LABELS[best]") if named else ("", "")
    return (
        f"    best = {module}.top1(results[{n}])\n"
        f'    print("{i.name} %d{which}: class %d{label}, score {form}" % (run, best{given}, results[{n}][best]))\n'
    )


def _array(port: CPort, values: Array) -> str:
    flat = values.reshape(-1)
    flat = flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat
    shown = [float(str(x)) if flat.dtype.kind == "f" else int(x) for x in flat]
    return f'array.array("{_code(port)}", {shown})'
