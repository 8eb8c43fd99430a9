"""Checks of parameters of kernels for instruction sets: their portable twins, with what packers make of small layers
and with mutants of that. See `rooms.py`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from mote.compiler.kernels import catalogue
from mote.compiler.kernels.armv7em.depthwise.depthwise_planar import layout_of_any, planar_layout
from mote.compiler.kernels.contract import NHWC, Kernel, Refusal, View
from mote.compiler.kernels.helium.depthwise import depthwise_taps
from mote.compiler.kernels.pack.planar import Planar
from mote.compiler.lower.program import Form
from mote.compiler.passes.rewriting import half_precision
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.graph.region import joined
from mote.ir.graph.types import DType
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from tests.compiler.kernels import (
    test_depthwise_gemm,
    test_depthwise_planar,
    test_gemm_add,
    test_transpose_conv_rows,
)
from tests.compiler.kernels.rooms import Case, GuardedRooms, Rooms, calls
from tests.helpers.support import examples, fuzzed
from tests.ir.ops.elementwise import pair_models, test_arithmetic
from tests.ir.ops.matrix import test_batch_matmul
from tests.ir.ops.training.integer import test_input_gradients as test_integer_gradients
from tests.ir.ops.training.integer import test_steps as test_integer_steps
from tests.ir.ops.windows import test_conv, test_pool, test_transpose_conv

MUTANTS = examples(150)
FEW = {"depthwise3_s8", "fully_connected4_s8", "pool_helium_s8"}
"""Headers that `make test` tries, since compiling all of them takes longer than their mutants do."""
VARIANTS = ("dual", "compact", "lean", "row", "sparse2", "coded8", "coded32", "nibbles32")
"""Parts of the names of kernels that have the checks of others: their code is in another order, or they are asked for
fewer rows, smaller blocks or more channels at once."""
ELSEWHERE = frozenset(
    {
        *("lines4", "lstm_pairs", "lstm_norm_pairs", "lstm_stateless_pairs"),
        *("lstm_vectors", "lstm_norm_vectors", "lstm_stateless_vectors"),
        *("svdf_pairs", "svdf_state8_pairs", "add_helium"),
        *("learned_conv4x2", "planar_mask"),
        *(
            "logistic_f32_helium",
            "tanh_f32_helium",
            "relu_f32_helium",
            "leaky_relu_f32_helium",
            "hard_swish_f32_helium",
        ),
        *("exp_f32_helium", "gelu_f32_helium", "lut_s16_helium", "sigmoid_s16_helium", "join_helium", "move_helium"),
        *("resize_nearest_helium", "resize_bilinear_f32_helium"),
        *(f"learned_{name}" for name in ("pointwise4", "conv4", "conv4_lean", "conv4_packed", "conv4_packed_lean")),
    }
)
"""Kernels of headers that others share with them, whose checks are tried there, and those that are tried with the
layers that they are for: `test_fits_of_learned_layers.py`."""
UNCHECKED = ("patched", "affine", "avr")
"""Parts of the names of kernels that are not tried: of those that no runtime has, since nothing checks their
parameters (AVR runs no images), and of those of QONNX, whose checks are those of the kernels that they are variants
of."""
WANTED = tuple(
    k
    for k in catalogue.KERNELS
    if k.isa and k.name not in ELSEWHERE and not {*VARIANTS, *UNCHECKED} & {*k.name.split("_")}
)


def conv(kernel: tuple[int, int], channels: int, outputs: int, **more: object) -> test_conv.Config:
    config = test_conv.Config(
        kind="CONV_2D", dtype="int8", batch=1, size=(6, 7), channels=channels, outputs=outputs, kernel=kernel,
        stride=(1, 1), dilation=(1, 1), padding="SAME", activation="RELU", per_channel=True, bias=True, gain=0.5,
        zeros=(-128, -128), seed=3,
    )  # fmt: skip
    return replace(config, **more)  # type: ignore[arg-type]


LINEAR = {"activation": "NONE", "zeros": (3, 5)}
CONVOLUTIONS = (
    conv((3, 3), 3, 6),
    conv((3, 3), 16, 8, padding="VALID", **LINEAR),
    conv((3, 3), 16, 7, size=(5, 8), batch=2),
    conv((3, 3), 4, 8, stride=(2, 2), size=(7, 5)),
    conv((3, 3), 16, 8, groups=2),
    conv((2, 3), 24, 12, groups=3, padding="VALID", **LINEAR),
    conv((1, 1), 8, 6),
    conv((1, 1), 16, 8, size=(3, 8)),
    conv((1, 1), 8, 8, stride=(2, 2)),
    *(conv(kernel, 24, 6, pruned="few", **how) for how in (LINEAR, {}) for kernel in ((1, 1), (3, 3))),
    conv((3, 1), 16, 9, size=(6, 1), padding="VALID"),
    *(conv((1, 1), 64, 11, size=(3, 1), **how) for how in (LINEAR, {})),
    conv((3, 1), 16, 8, size=(6, 1), padding="VALID", pruned="few", **LINEAR),
    conv((3, 2), 3, 6, dtype="float32"),
    conv((1, 1), 5, 6, dtype="float32"),
    *(conv((1, 1), n, 11, kind="FULLY_CONNECTED", per_channel=False, pruned=how) for n, how in ((24, "few"), (13, ""))),
    conv((1, 1), 32, 16, kind="FULLY_CONNECTED", per_channel=False, **LINEAR),
    conv((1, 1), 7, 6, kind="FULLY_CONNECTED", dtype="float32"),
    *(conv(kernel, 5, 6, dtype="float32", weights="halves") for kernel in ((3, 2), (1, 1))),
    conv((1, 1), 7, 6, kind="FULLY_CONNECTED", dtype="float32", weights="halves"),
    conv((3, 3), 5, 1, kind="DEPTHWISE_CONV_2D", dtype="float32", weights="halves"),
    *(conv(kernel, 8, 6, weights="ternary") for kernel in ((3, 3), (1, 1))),
    conv((3, 3), 3, 10, weights="small"),
    conv((1, 1), 8, 10, weights="small"),
    conv((1, 1), 40, 11, kind="FULLY_CONNECTED", per_channel=False, weights="small"),
    conv((3, 3), 5, 6, dtype="int16", gain=4.0),
    conv((1, 1), 13, 11, kind="FULLY_CONNECTED", dtype="int16", per_channel=False),
    conv((3, 3), 6, 1, kind="DEPTHWISE_CONV_2D", dtype="int16", gain=4.0),
    conv((3, 3), 5, 1, kind="DEPTHWISE_CONV_2D", dtype="float32"),
)
PLANAR = test_depthwise_planar.Layer(channels=4)
SPREAD = test_transpose_conv_rows.PLAIN
DEPTHWISE = (
    PLANAR,
    replace(PLANAR, size=(5, 7), batch=2, compact=True),
    replace(PLANAR, size=(6, 9), stride=(2, 2)),
    replace(PLANAR, size=(6, 13), kernel=(5, 5), zero=3),
    replace(PLANAR, size=(8, 1), kernel=(3, 1), padding="VALID", channels=9),
    replace(PLANAR, size=(9, 12), channels=16, zero_in=-5),
    replace(PLANAR, size=(3, 3), padding="VALID", channels=16),
)
POOL = {
    "dtype": "int8", "scale": 0.1, "zero_point": 3, "batch": 1, "size": (5, 6), "channels": 17, "kernel": (3, 2),
    "stride": (2, 1), "padding": "SAME", "activation": "NONE",
}  # fmt: skip


def models() -> Iterator[bytes]:
    for config in CONVOLUTIONS:
        yield test_conv.model([config])
    for layer in DEPTHWISE:
        yield test_depthwise_planar.model(layer)
    for chain in (conv((3, 3), 4, 6), conv((1, 1), 8, 6, size=(4, 8))):
        yield test_gemm_add.model(test_gemm_add.Pair(chain))
    for size, stride in (((5, 8), 1), ((7, 16), 2)):
        layer = replace(PLANAR, size=size, stride=(stride, stride))
        yield test_depthwise_gemm.model(test_depthwise_gemm.Both(layer))
    for shapes in (((2, 3, 8), (2, 3, 8)), ((2, 3, 8), (8,))):
        yield test_arithmetic.model(*(test_arithmetic.Config(kind, shapes=shapes) for kind in ("ADD", "MUL")))
    for kernel in ((3, 3), (2, 2), (4, 4)):
        yield test_transpose_conv.model([SPREAD | {"kernel": kernel}])
    batches = (2, 1, 3), (1, 2, 3)
    yield test_batch_matmul.model(
        *(test_batch_matmul.Config(batches=batches, sizes=s) for s in ((3, 21, 7), (2, 4, 3)))
    )
    yield test_pool.model([{"kind": kind, **POOL} for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D")])
    for dtype in ("int8", "int16", "float32"):
        small = {**POOL, "dtype": dtype, "zero_point": 0, "kernel": (3, 3)}
        yield test_pool.model([{"kind": kind, **small} for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D")])
    yield pairs()


def pairs() -> bytes:
    """Functions of two tensors that have vectors, of equal shapes and with one that is repeated."""
    made = pair_models.Model()
    scaled = [("ADD", "int16"), ("MUL", "int16"), ("SQUARED_DIFFERENCE", "int8"), ("SQUARED_DIFFERENCE", "int16")]
    for kind, dtype in (
        *scaled,
        ("MAXIMUM", "int8"),
        ("MINIMUM", "int8"),
        ("MAXIMUM", "float32"),
        ("MINIMUM", "float32"),
    ):
        scales = (0.02, 0.011, 0.03) if (kind, dtype) in scaled else None
        options = {"pot_scale_int16": False} if kind == "ADD" else {}
        for shapes in (((2, 3, 5), (2, 3, 5)), ((2, 3, 5), (5,))):
            made.layer(pair_models.Config(kind, dtype, shapes, scales=scales, options=options))
    return made.finish()


def views(g: Graph) -> Iterator[View]:
    """Every operator, and each with the one behind it, between rows of both layouts."""
    chains = [(op,) for op in g.ops] + [(a, b) for a, b in pairwise(g.ops) if a.outputs[0] in b.inputs]
    for ops in chains:
        first, last = ops[0], ops[-1]
        depthwise = (planar_layout, layout_of_any) if isinstance(first, DepthwiseConv2D) else ()
        planar = [layout for read in depthwise if (layout := read(View(g, ops))) is not None]
        wide = Planar(-(-(last.output(g).shape[2] + 2) // 4) * 4, 1) if isinstance(last, Conv2D) else None
        for reads in dict.fromkeys((NHWC, *planar)):
            for writes in (NHWC, *([wide] if wide else [])):
                yield View(g, ops, reads=reads, writes=writes)


def bound(kernel: Kernel, view: View) -> Iterator[Case]:
    """The calls of a kernel, if it is for such an operator."""
    packed = kernel.bind(view) if kernel.computed(view) else Refusal("")
    if not isinstance(packed, Refusal):
        yield from calls(view.graph, joined(view.graph, view.ops), packed)


def untried() -> set[str]:
    """The names of kernels that compute none of the layers."""
    return {kernel.name for kernel in WANTED} - {name for name, _ in of_layers()}


@cache
def of_layers() -> dict[tuple[str, Form], Case]:
    """A call of each kernel in each form; those of weights in pairs write planar rows, the others do not."""
    found: dict[tuple[str, Form], Case] = {}
    plain = [tflite.parse(data, "layer") for data in models()]
    floats = [g for g in plain if g.tensors[g.inputs[0]].dtype == DType.FLOAT32]
    learned = *test_integer_steps.several(), *test_integer_gradients.several()
    for g in (*plain, *(half_precision.run(g)[0] for g in floats), *learned):
        for view in views(g):
            for kernel in WANTED:
                if (view.writes != NHWC) == (bool(kernel.writes) and "pair" in kernel.name.split("_")):
                    for case in bound(kernel, view):
                        found.setdefault((kernel.name, case.form), case)
    return found


def test_every_kernel_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not untried(), f"add a layer that each of them computes to models() of {__name__}"
    monkeypatch.setattr(sys.modules[__name__], "WANTED", (*WANTED, replace(WANTED[0], name="planted")))
    assert untried() == {"planted"}


@fuzzed
def test_what_is_admitted_breaks_nothing(tmp_path: Path) -> None:
    nothing_breaks(tuple(of_layers().values()), tmp_path)


def test_what_is_admitted_breaks_none_of_a_few(tmp_path: Path) -> None:
    few = [case for case in of_layers().values() if case.kernel.headers[0] in FEW]
    assert {case.kernel.headers[0] for case in few} == FEW
    nothing_breaks(few, tmp_path)


def test_transposed_convolutions_of_several_parts(tmp_path: Path) -> None:
    """Each kernel inside sees the room of a row."""
    cases = [
        case
        for kernel in ((3, 3), (2, 2), (4, 4), (1, 3))
        for rows in test_transpose_conv_rows.KERNELS.values()
        for g in [test_transpose_conv_rows.read(SPREAD | {"kernel": kernel, "stride": (min(kernel[0], 2), 2)})]
        for case in bound(rows, View(g, g.ops))
    ]
    assert {"_two_" in case.kernel.name for case in cases} == {True, False}
    nothing_breaks(cases, tmp_path)


def test_depthwise_layers_of_other_shapes(tmp_path: Path) -> None:
    """Of which a kernel has other code than for those above."""
    wide = replace(PLANAR, size=(6, 9))
    layers = (
        replace(wide, dilation=(2, 2)),
        replace(wide, multiplier=2, channels=8),
        replace(wide, channels=13),
    )
    graphs = [test_depthwise_planar.graph(layer) for layer in layers]
    kernels = [k for k in depthwise_taps.KERNELS if k.name != "depthwise_taps_row"]
    cases = [case for g in graphs for kernel in kernels for case in bound(kernel, View(g, (g.ops[0],)))]
    assert len(cases) > len(layers)
    nothing_breaks(cases, tmp_path)


def nothing_breaks(cases: Sequence[Case], folder: Path) -> None:
    rooms = Rooms(cases, folder)
    findings = rooms.run(MUTANTS)
    print(f"{rooms.tried} mutants tried, {sum(rooms.admitted.values())} of them admitted and run")
    assert not findings, "\n".join(map(str, findings))
    assert min(rooms.admitted.values()) > MUTANTS / 50, rooms.admitted


@pytest.mark.skipif(
    not os.environ.get("MOTE_FUZZ"), reason="compiling all of it again takes a while: `make fuzz` does it"
)
def test_assembly_stays_in_its_room(tmp_path: Path) -> None:
    if not (shutil.which(GuardedRooms.EMULATOR) and shutil.which(GuardedRooms.COMPILER)):
        pytest.skip("there is no emulator of Arm programs")
    cases = [case for (name, _), case in of_layers().items() if "_f32" not in name]
    rooms = GuardedRooms(cases, tmp_path)
    findings = rooms.run(MUTANTS)
    assert not findings, "\n".join(map(str, findings))
    assert min(rooms.admitted.values()) > MUTANTS / 50, rooms.admitted
    assert GuardedRooms(cases[:2], tmp_path / "unchecked", unchecked=True).run(MUTANTS)
