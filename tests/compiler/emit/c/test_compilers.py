"""A matrix of compilers, levels and options: whatever a firmware is built with, its models compute the same.

One program holds models that together use every kernel, those for DSP instructions in their portable form; it runs the
models' self-tests. It is built for this computer, and for a big-endian one of 32 bits; some of the models also for an
8-bit core, where `int` has 16 bits.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import provable
import prove
from mote import compile
from mote.base.files import fill
from mote.compiler.kernels import library
from mote.compiler.kernels.library import FOLDERS
from mote.compiler.kernels.structs import closure
from mote.frontends.model import Model
from mote.ir.graph import Graph
from mote.ir.graph.types import DType
from mote.optimize.tune.calibration import cost_layers
from tests.bench.evaluation.test_mixed_types import mixed
from tests.compiler.emit.c.kernels_of_cores import host_as, pinned_models
from tests.compiler.kernels import test_even, test_packed_matmul
from tests.compiler.kernels.learned_layers import Layer, Learners
from tests.compiler.kernels.test_learned_operands import BIASES, PLANAR, TO_EVEN, WHOLE, with_masks
from tests.frontends.onnx import qonnx_models
from tests.frontends.onnx.test_suppression import suppressed
from tests.helpers import narrow_int
from tests.helpers.built import compile_model, side_by_side
from tests.helpers.network import FLOAT, SCALE, Net
from tests.helpers.onnx_numbers import numbers
from tests.helpers.streams import Variable
from tests.helpers.support import HOST_DSP, HOST_FPU, HOST_HELIUM, needs
from tests.ir.ops.elementwise import pair_models
from tests.ir.ops.features import test_scaling
from tests.ir.ops.indexing import test_scatter
from tests.ir.ops.matrix import test_blockwise
from tests.ir.ops.recurrent import lstm_models, test_svdf

WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
BIG_ENDIAN = "mips-linux-gnu-gcc"
BUILDS = {
    "gcc -std=c99 -Os -funsigned-char": slice(0, None, 2),
    "gcc -std=c11 -O3 -fshort-enums": slice(0, None, 4),
    "gcc -std=c17 -O2 -flto": slice(1, None, 3),
    "clang -std=c11 -O0 -fshort-enums": slice(1, None, 2),
    "clang -std=c17 -O3 -funsigned-char": slice(2, None, 3),
    "gcc -std=c99 -O1 -m32": slice(None),
    f"{BIG_ENDIAN} -std=c99 -O1 -static": slice(None),
}
"""Compilers with options, and which of the models each builds: every level, standard and sign of `char`, with both
compilers where they differ. (-O2 on the host is what all other tests use.)"""
PROVEN = {
    "functions": "layers",
    "conversions": "layers",
    "boxes": "layers",
    "wide layers": "rows",
    "front": "layers",
    "spectra": "layers",
    "reductions": "layers",
    "reduced rows": "pushed",
    "sequences": "layers",
    "products": "layers",
    "unsigned": "layers",
    "hybrid": "layers",
    "norms float": "layers",
    "images": "layers",
    "learners": "layers",
    "decisions": "layers",
    "micro": "layers",
    "filters": "layers",
    "motion": "layers",
    "gradients": "layers",
    "integer steps": "layers",
    "integer gradients": "layers",
}
"""Models of the proofs, and in which mode they are compiled: the smallest ones with these kernels."""
TUNED = ["0=winograd2", "2=pointwise4x2_wide_add", "19=fully_connected8_pairs"]
"""Kernels that so small an image would not be worth."""
PATCHED = ["CONV_2D0=pointwise3_pair_patched", "FULLY_CONNECTED1=fully_connected4_patched"]
PATCHED_LANES = [
    "CONV_2D0=pointwise4_patched",
    "FULLY_CONNECTED1=fully_connected8_patched",
    "DEPTHWISE_CONV_2D2=depthwise_taps_patched",
]
AVR_PORT = Path(__file__).with_name("avr_port.c")
NATIVE = ("lanes",)
"""Models with kernels for the vectors of this computer."""
TOO_LARGE = (
    *("blocks", "planar", "even", "patched", "patched_lanes", "patched_quads", "proven_gradients", "coded_stream"),
    *("nibbles", "learned", "learned_dsp", "learned_helium"),
)
"""Their constants, which lie in RAM there, leave no room for a stack."""
UNADDRESSABLE = ("maps",)
"""They have an object of more bytes than `int` with 16 bits can address."""
LONG_DOUBLE = ("pairs", "proven_boxes", "proven_learners")
"""Computed or checked in double precision: a compiler whose `double` has 32 bits refuses them."""


def narrow_models() -> list[str]:
    """Models that a core whose `int` has 16 bits could run: kernels for instruction sets, whose twins only the host
    runs, count on 32 bits, and those for AVR on constants in program memory and sizes that their packers bound."""
    others = {*UNADDRESSABLE, *NATIVE}
    return [name for name in cocktail() if name not in others and not name.startswith("kernels_of_")]


def images(net: Net) -> bytes:
    """Everything that images go through, and vectors of them."""
    x = net.input(1, 8, 8, 8)
    y = net.conv(x, 8)
    y = net.add(net.depthwise(y), net.conv(x, 8, 1))
    y = net.op("MUL", [y, net.op("SUB", [y, x])])
    y = net.concatenate(3, net.pool(y), net.pool(y, kind="MAX_POOL_2D"))
    y = net.conv(net.transpose_conv(y, 4), 12, 3, stride=2)
    y = net.resize(net.resize(y, 6, 6), 8, 4, "RESIZE_NEAREST_NEIGHBOR")
    y = net.slice(net.pad(y, (0, 0), (1, 0), (0, 1), (0, 0)), (0, 1, 1, 0), (1, 8, 4, 12))
    quantized = net.dtype == "int8"
    part = (1 / 256, -128) if quantized else FLOAT
    slopes = net.weights(1, 1, 12)
    slopes = net.writer.const("slopes", slopes, 0.01) if quantized else net.writer.const("slopes", np.float32(slopes))
    y = net.op("PRELU", [net.op("LOGISTIC", [y], quant=part), slopes])
    y = net.moved("TRANSPOSE", [y, net.ints(0, 2, 1, 3)], (1, 4, 8, 12))
    scores = net.fully_connected(net.mean(y), 10)
    return net.finish(net.op("SOFTMAX", [scores], quant=part, beta=1.0), y)


def separable(net: Net) -> bytes:
    """Depthwise layers between pointwise ones, and convolutions that have several fast kernels."""
    x = net.input(1, 8, 8, 8)
    relu = {"fused_activation_function": "RELU", "quant": (SCALE, -128)}
    y = net.depthwise(net.conv(x, 8, 1, **relu), **relu)
    y = net.depthwise(net.conv(y, 8, 1, **relu), kernel=5, **relu)
    y = net.conv(net.conv(net.conv(y, 8, 1), 8), 8, stride=2)
    return net.finish(y, net.op("ADD", [y, net.writer.const("c", net.weights(1, 1, 8), 40.0)]))


def pools(net: Net) -> bytes:
    """Of more channels than a vector has lanes."""
    x = net.input(1, 6, 6, 20)
    return net.finish(net.pool(x), net.pool(x, kind="MAX_POOL_2D"))


def sums(net: Net) -> bytes:
    """Layers whose output is one row of many."""
    x = net.input(1, 12, 2, 8)
    conv = net.conv(x, 4, (12, 1), padding="VALID")
    depthwise = net.depthwise(x, kernel=(12, 2), padding="VALID")
    return net.finish(conv, depthwise, net.pool(x, (12, 1)), net.mean(x))


def few_values(net: Net) -> bytes:
    """Weights that are worth a code."""
    x = net.input(1, 4, 4, 16)
    y = net.conv(x, net.rng.choice([-3, 0, 0, 5], (64, 3, 3, 16)).astype(np.int8))
    return net.finish(net.fully_connected(net.flat(y), net.rng.choice([-1, 0, 0, 1], (24, 1024)).astype(np.int8)))


def frames(net: Net) -> bytes:
    """Layers over time."""
    y = net.depthwise(net.input(1, 12, 1, 8), kernel=(3, 1), padding="VALID")
    y = net.depthwise(net.conv(y, 8, 1), kernel=(5, 1), padding="VALID")
    return net.finish(net.fully_connected(net.flat(y), 3))


def halves(net: Net) -> bytes:
    """Sums whose products with the multiplier are so near to halves that only a table rounds them as LiteRT does."""
    x = net.input(1, 4, quant=(0.5, 0))
    weights = net.writer.const("weights", np.zeros((4, 4), np.int8), 0.25)
    ends = np.array([-(1 << 31), 1 - (1 << 31), (1 << 31) - 2, (1 << 31) - 1], np.int32)
    bias = net.writer.const("bias", ends, 0.125)
    return net.finish(net.op("FULLY_CONNECTED", [x, weights, bias], (1, 4), (0.125 * 2.0**32, 4)))


def variable(net: Net) -> bytes:
    """What is kept is written anew every time."""
    x = net.input(1, 6)
    kept = Variable(net, net.weights(1, 6), net.quants[x])
    y = net.add(kept.read(), x)
    kept.assign(x)
    return net.finish(y)


def learned(*layers: Layer) -> Model:
    """Layers whose biases or weights are learned."""
    return side_by_side([Learners(layers).graph()])


def masks() -> Model:
    """Masks of what depthwise layers read in planar rows."""
    return side_by_side([with_masks(Learners([layer for pair in PLANAR for _, layer in pair]).graph())])


def maps() -> Graph:
    """Steps of preprocessing and quantization in one line for each channel."""
    lines = {"factor": (2.0**-8, 2.0**-7), "offset": (0.0, 3.0)}
    return test_scaling.graph(DType.INT16, DType.INT8, 0.25, 3, 2, rows=64, **lines)


def patched(*which: int) -> Model:
    """Layers with sums that the quick kernels round to the wrong side."""
    layers = list(test_even.patched_layers())
    return side_by_side(layers[i] for i in which)


@cache
def cocktail() -> dict[str, tuple[bytes | Model, dict[str, Any]]]:
    """Models that use every kernel, with the options that bring that about."""
    lstm, svdf = lstm_models.Config, test_svdf.Config
    dsp = {"target": HOST_DSP, "optimize": "speed"}
    return {
        "tuned": (images(Net()), dsp | {"kernels": TUNED}),
        "rows": (images(Net(2)), {"least_ram": True}),
        "real": (images(Net(3, "float32")), {}),
        "blocks": (images(Net(12, "float32")), {"target": HOST_FPU, "optimize": "speed"}),
        "planar": (separable(Net(4)), dsp | {"kernels": ["6=winograd_stride2", "5=winograd4"]}),
        "sums": (sums(Net(5)), {"input": "rows"}),
        "coded": (few_values(Net(6)), {"kernels": ["0=coded_conv2d_s8", "2=fully_connected_coded_s8"]}),
        "coded_stream": (few_values(Net(6)), dsp | {"kernels": ["0=coded_conv3_pair_linear_0"]}),
        "rings": (frames(Net(7)), {"stream": 1, "target": HOST_DSP}),
        "columns": (frames(Net(8)), dsp),
        "mixed": (mixed(), {}),
        "lstm": (lstm_models.model(lstm("int8"), lstm("float32")), {}),
        "svdf": (test_svdf.model(svdf(), svdf(state="int8", zeros=(3, -128, 9)), svdf("float32")), {}),
        "lstm_pairs": (lstm_models.model(lstm("int8")), dsp),
        "lstm_vectors": (lstm_models.model(lstm("int8")), {"target": HOST_HELIUM, "optimize": "speed"}),
        "products_pairs": (side_by_side(test_packed_matmul.products(1, 4)), dsp),
        "products_vectors": (
            side_by_side(test_packed_matmul.products(1, 4)),
            {"target": HOST_HELIUM, "optimize": "speed"},
        ),
        "svdf_pairs": (test_svdf.model(svdf(), svdf(state="int8", zeros=(3, -128, 9))), dsp),
        "variable": (variable(Net(9)), {}),
        "moves": (test_scatter.every(), {}),
        "halves": (halves(Net(10)), {"shrink": False}),
        "norms": (prove.SMALL["norms"](), dsp),
        "helium": (images(Net(11)), dsp | {"target": HOST_HELIUM}),
        "pools": (pools(Net(12)), dsp | {"target": HOST_HELIUM}),
        "ranked_trees": (provable.trees(), {}),
        "plain_trees": (provable.trees(), {"features": "int16", "kernels": ["0.1=forest"]}),
        "branches": (provable.trees(), {"kernels": ["0.1=forest_code"]}),
        "coded_branches": (provable.trees(), {"kernels": ["0.1=forest_coded"]}),
        "pairs": (pair_models.every_kernel(2, ("int8", "int32", "float32")), {}),
        "pairs_simd": (pair_models.every_kernel(2, ("int8",)), dsp),
        "pairs_vectors": (pair_models.every_kernel(2, ("int8",)), {"target": HOST_HELIUM, "optimize": "speed"}),
        "numbers": (numbers(), {}),
        "blockwise": (test_blockwise.every_kernel(), {}),
        "vectors": (provable.vectors(), {}),
        "sounds": (provable.sounds(), {}),
        "moments": (provable.moments(), {}),
        "sequences": (prove.SMALL["built"](), {}),
        "even": (provable.even(), {"shrink": False}),
        "suppression": (suppressed((1, 2, 12), 4, 0.3, 0.1), {}),
        "affine": (qonnx_models.network(0, 4, 4), {}),
        "patched": (patched(5, 7), dsp | {"shrink": False, "kernels": PATCHED}),
        "patched_quads": (patched(10), dsp | {"shrink": False}),
        "patched_lanes": (patched(5, 7, 8), {"target": HOST_HELIUM, "shrink": False, "kernels": PATCHED_LANES}),
        "lanes": (images(Net(13)), {"target": "native", "optimize": "speed"}),
        "nibbles": (few_values(Net(14)), {"kernels": ["0=nibbles_conv2d_s8"]}),
        "sounds_and_lines": (side_by_side(cost_layers.preprocessing_graphs()), {}),
        "steps_dsp": (prove.SMALL["integer steps"](), {"target": host_as("cortex-m7"), "optimize": "speed"}),
        "steps_helium": (prove.SMALL["integer steps"](), {"target": host_as("cortex-m55"), "optimize": "speed"}),
        "gradients_dsp": (prove.SMALL["integer gradients"](), {"target": host_as("cortex-m7"), "optimize": "speed"}),
        "gradients_helium": (
            prove.SMALL["integer gradients"](),
            {"target": host_as("cortex-m55"), "optimize": "speed"},
        ),
        "learned": (learned(*BIASES, *WHOLE, *TO_EVEN[::5]), {}),
        "learned_dsp": (learned(*BIASES, *WHOLE), {"target": host_as("cortex-m7")}),
        "learned_helium": (learned(*BIASES, *WHOLE), {"target": host_as("cortex-m55")}),
        "masks": (masks(), {"target": host_as("cortex-m7"), "shrink": False}),
        "trained": (prove.BUNDLED / "digits.tflite", {"train": "last"}),
        "trained_float": (prove.BUNDLED / "digits_float.tflite", {"train": "last"}),
        "maps": (side_by_side([maps()]), {}),
        "copied": (images(Net(15)), dsp | {"kernels": ["0=conv4x2_wide[constants=ram]"]}),
        **{
            name: (model, {"target": core, "shrink": False, "kernels": pins})
            for name, model, core, pins in pinned_models()
        },
    } | {f"proven_{name.replace(' ', '_')}": (prove.SMALL[name](), prove.MODES[mode]) for name, mode in PROVEN.items()}


ELSEWHERE = {"mote_barrier.h", "mote_depthwise3_any_s8.h", "mote_depthwise_any_s8.h", "mote_npu_job.h"}
"""Headers of models that need more than a C compiler: two cores; and of kernels that only runtimes have."""
STAMPS = re.compile(r"^#if MOTE_\w+_CRC != .*?^#endif\n", re.MULTILINE | re.DOTALL)


def write(folder: Path, name: str, model: bytes | Model, options: dict[str, Any]) -> set[str]:
    """A model in the folder of all, with kernels' headers for any core, and so without the check of their stamps."""
    make = compile_model if isinstance(model, Model) else compile
    files = make(model, name=name, **options).project.files
    test = files["selftest/selftest.c"].replace("int main(void)", f"int {name}_main(void)")
    for file, text in files.items() | {(f"{name}_selftest.c", test)}:
        if file.startswith(name):
            (folder / file).write_text(STAMPS.sub("", text))
    used = closure(file for file in files if file.startswith("mote_"))
    for file in used:
        (folder / file).write_text(library.header(file))
    return set(used)


@pytest.fixture(scope="module")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all models, each with its self-test as a function."""
    folder = tmp_path_factory.mktemp("firmware")
    used = [write(folder, name, *model) for name, model in cocktail().items()]
    every = {path.name for place in FOLDERS for path in place.iterdir() if path.name.endswith(".h")} - ELSEWHERE
    assert set().union(*used) == every, "a kernel is used by no model here"
    return folder


def needed(compiler: str, *flags: str) -> list[str]:
    """What runs programs of a compiler; the test is skipped where it cannot be built or run."""
    run = ["qemu-mips"] if compiler == BIG_ENDIAN else []
    for tool in (compiler, *run):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    tried = subprocess.run([compiler, *flags, "-xc", "-", "-o", "/dev/null"], input=b"int main(void){return 0;}")
    if tried.returncode:
        pytest.skip(f"{compiler} does not know {' '.join(flags)}, or has no C library for it")
    return run


@pytest.mark.slow
@pytest.mark.parametrize("build", BUILDS)
def test_every_build_computes_the_same(build: str, firmware: Path, tmp_path: Path) -> None:
    compiler, *flags = build.split()
    run = needed(compiler, *flags)
    names = list(cocktail())[BUILDS[build]]
    declared = "".join(f"int {name}_main(void);\n" for name in names)
    (tmp_path / "main.c").write_text(
        f"{declared}int main(void) {{ return {' + '.join(f'{n}_main()' for n in names)}; }}\n"
    )
    sources = [str(firmware / f"{name}{part}.c") for name in names for part in ("", "_selftest")]
    command = [compiler, *flags, *WARNINGS, "-DMOTE_SELFTEST", *sources, "main.c", "-o", "program", "-lm"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([*run, "./program"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "".join(f"{name}: ok\n" for name in names))


@pytest.mark.slow
@pytest.mark.parametrize("standard", ["c++98", "c++20"])
def test_headers_are_cpp(standard: str, firmware: Path) -> None:
    needed("g++")
    text = "".join(f'#include "{name}.h"\n' for name in cocktail())
    command = ["g++", f"-std={standard}", *WARNINGS, f"-I{firmware}", "-fsyntax-only", "-xc++", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


INSTANCE_OR_LINE = r"^(?:MOTE_\w+\((?:[^\n]*|[^\n]*,\n(?: +\"[^\n]*\n)* +\"[^\n]*)\)$|.*$)"
"""A macro that defines functions, with assembly of several lines in its arguments if there is some; or a line."""


def in_one_file(firmware: Path, names: list[str]) -> str:
    """Models, with their constants; what several of them define alike, once."""
    seen: set[str] = set()
    lines = []
    for name in names:
        constants = (firmware / f"{name}_constants.h").read_text()
        text = (firmware / f"{name}.c").read_text().replace(f'#include "{name}_constants.h"', constants)
        for part in re.findall(INSTANCE_OR_LINE, text, re.MULTILINE):
            lines += [] if part.startswith("MOTE_") and part in seen else [part]
            seen.add(part)
        lines += [f"#undef {macro}" for macro in ("MOTE_TRACE", "MOTE_NEXT", "AT", "ROW", "AT_KEPT")]
    return "\n".join(lines) + "\n"


@pytest.mark.slow
def test_nothing_depends_on_the_width_of_int(firmware: Path) -> None:
    """Without the values of constants: what kernels and their callers compute."""
    needs("clang")
    valued = r"^(static const [\w *]+(?:\[\d+\])?(?: MOTE_ALIGNED)?) = \{.*?^\};"
    text = re.sub(valued, r"\1;", in_one_file(firmware, narrow_models()), flags=re.M | re.S)
    assert narrow_int.findings(text, [firmware], ["-Wno-macro-redefined"]) == []


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["g++ -std=gnu++11", "g++ -std=c++20", "clang++ -std=gnu++17"])
def test_models_are_cpp(compiler: str, firmware: Path) -> None:
    """As where a user includes them in a C++ file."""
    command = [*compiler.split(), "-w", f"-I{firmware}", "-fsyntax-only", "-xc++", "-"]
    needed(command[0])
    done = subprocess.run(command, input=in_one_file(firmware, list(cocktail())), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def on_avr(part: str, folder: Path, name: str, selftest: str) -> str:
    """What the self-test of a model prints on a simulated ATmega."""
    needs("avr-gcc", "simavr")
    (folder / "avr.c").write_text(selftest)
    model = [f"-I{folder}", str(folder / f"{name}.c"), str(folder / "avr.c"), str(AVR_PORT)]
    # The models are for the host: their constants lie in RAM, which headers for AVR would read as program memory.
    in_ram = "-DMOTE_COMPILER_AVR_H"
    flags = [f"-mmcu={part}", "-std=c99", "-Os", "-Wall", "-Wextra", "-Werror", "-DMOTE_SELFTEST", in_ram]
    tried = subprocess.run(
        ["avr-gcc", *flags[:1], "-xc", "-", "-o", "/dev/null"], input=b"#include <stdio.h>\nint main;"
    )
    if tried.returncode:
        pytest.skip("avr-libc is not installed")
    elf = folder / f"{name}.elf"
    done = subprocess.run(["avr-gcc", *flags, *model, "-o", str(elf)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    command = ["simavr", "-m", part, "-f", "16000000", str(elf)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    return re.sub(r"\x1b\[\d+m", "", done.stdout + done.stderr)


def test_digits_on_an_atmega(tmp_path: Path) -> None:
    """A part with 8 KB of RAM, in which constants lie too."""
    files = compile(prove.BUNDLED / "digits.tflite").project.files
    fill(tmp_path, files)
    selftest = files["selftest/selftest.c"].replace("int main(void)", "int selftest_main(void)")
    assert "digits: ok" in on_avr("atmega2560", tmp_path, "digits", selftest)


@pytest.mark.slow
def test_an_8_bit_core_computes_the_same(firmware: Path) -> None:
    for name in set(narrow_models()) - {*TOO_LARGE, *LONG_DOUBLE}:
        selftest = (firmware / f"{name}_selftest.c").read_text()
        selftest = selftest.replace(f"int {name}_main(void)", "int selftest_main(void)")
        assert f"{name}: ok" in on_avr("atmega1284p", firmware, name, selftest)
