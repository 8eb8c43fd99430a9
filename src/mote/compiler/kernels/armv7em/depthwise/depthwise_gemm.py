"""Depthwise convolutions fused with the 1x1 convolution after them: parameters and instances of
`mote_depthwise_gemm_s8.h`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from mote.compiler.kernels.armv7em.common import NO_CONSTANTS
from mote.compiler.kernels.armv7em.depthwise import depthwise_planar
from mote.compiler.kernels.armv7em.depthwise.depthwise_planar import channels_once, planar_layout
from mote.compiler.kernels.armv7em.depthwise.depthwise_two import ROWS
from mote.compiler.kernels.armv7em.depthwise.depthwise_two_assembly import ONE, TWO, Inputs, Outputs, Shape, code
from mote.compiler.kernels.armv7em.depthwise.records import Channels, Weights
from mote.compiler.kernels.armv7em.gemm import gemm4x2
from mote.compiler.kernels.armv7em.gemm.gemm3 import PACKERS, bias_of, form_of, matrix_of, out_row
from mote.compiler.kernels.armv7em.gemm.gemm4x2 import DUAL, FPU, SHARED
from mote.compiler.kernels.armv7em.gemm.gemm_assembly import MatrixWeights, OutputPlaces, PixelBytes
from mote.compiler.kernels.armv7em.gemm.gemm_assembly import code as gemm_code
from mote.compiler.kernels.armv7em.ordering import knob
from mote.compiler.kernels.contract import (
    INT8,
    Call,
    Entry,
    Instance,
    Kernel,
    Knob,
    Needs,
    Packed,
    Params,
    Price,
    Refusal,
    View,
)
from mote.compiler.kernels.pack.planar import Planar
from mote.compiler.kernels.portable.windows.conv import sums_of
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

BLOCK = 4
"""Pixels that are computed at once."""
WORD = 4 * BLOCK
"""Bytes of a block's intermediate values (int16) of two channels."""


@dataclass(frozen=True)
class DepthwiseGemm:
    """Variant of the fused kernel: weight formats of both operators, and output rows at once."""

    matrix: MatrixWeights
    weights: Weights
    rows: int
    way: str = ""
    """Name suffix of the 1x1 convolution's kernel: DUAL, FPU, SHARED or empty."""

    @property
    def plain(self) -> str:
        return f"depthwise_gemm{'_two' if self.rows == ROWS else ''}_{self.matrix}{self.compact}{self.end}"

    @property
    def end(self) -> str:
        return SHARED if self.shared else ""

    @property
    def compact(self) -> str:
        return "_compact" if self.weights is Weights.W8 else ""

    @property
    def name(self) -> str:
        return self.plain + ("" if self.shared else self.way)

    @property
    def dual(self) -> bool:
        return self.way == DUAL

    @property
    def shared(self) -> bool:
        return self.way == SHARED

    @property
    def parts(self) -> tuple[Kernel, Kernel]:
        """The unfused kernels of the two operators, whose costs are summed; fusing saves the widening of the
        intermediate values."""
        depthwise = f"depthwise{'_two' if self.rows == ROWS else '3'}{self.compact}"
        every = (*depthwise_planar.KERNELS, *gemm4x2.KERNELS, *gemm4x2.FPU_KERNELS, *gemm4x2.SHORT_KERNELS)
        kernels = {kernel.name: kernel for kernel in every}
        return kernels[depthwise], kernels[f"pointwise4x2_{self.matrix}{self.way}"]


def _depthwise(view: View) -> View:
    return View(view.graph, view.ops[:1], reads=view.reads, small=view.small)


def _pointwise(view: View) -> View:
    return View(view.graph, view.ops[1:], writes=view.writes, small=view.small)


def _layout(view: View) -> Planar | None:
    return view.once(_depthwise).once(planar_layout)


def _kernel(way: DepthwiseGemm) -> Kernel:
    def pack(view: View, unroll: str = gemm4x2.USUAL) -> Packed | Refusal:
        first, second = view.once(_depthwise), view.once(_pointwise)
        if view.output.shape[2] % BLOCK or first.output.shape[3] % 4 or view.output.shape[0] > 1:
            return Refusal("it is for one image, rows of four pixels and more fours, and channels in fours")
        depthwise, pointwise = (view.once(kernel.bind) for view, kernel in zip((first, second), way.parts, strict=True))
        if isinstance(depthwise, Refusal):
            return depthwise
        if isinstance(pointwise, Refusal):
            return pointwise
        channels = channels_once(first, way.weights)
        stream = _stream(second, way.matrix)
        if channels is None or stream is None:
            return NO_CONSTANTS
        without_widening = replace(pointwise, price=replace(pointwise.price, excluded_features=("input",)))
        return _packed(view, way, depthwise, without_widening, channels, stream, unrolled=unroll == gemm4x2.ALL)

    def unrolling(view: View) -> Mapping[str, tuple[Knob, ...]]:
        return gemm4x2.unrolling(view.once(_pointwise), pointwise=True, way=way.way)

    kernel = Kernel(
        way.name,
        (DepthwiseConv2D, Conv2D),
        INT8,
        pack,
        header="depthwise_gemm_s8",
        isa=way.parts[1].isa,
        unless=way.parts[1].unless | {"mve"},
        lanes=2,
        costs=f"pointwise4x2_{way.matrix}{way.end}",
        reads=_layout,
        writes=(Planar,),
    )
    if way.shared:
        return kernel
    return knob.with_order(replace(kernel, knobs=unrolling), gemm4x2.ORDERS.get(way.way, knob.BOTH))


@dataclass(frozen=True)
class Stream:
    """Packed weights and requantization constants of the 1x1 convolution."""

    words: Ints
    shift: int


def _stream(view: View, matrix: MatrixWeights) -> Stream | None:
    """Pack the 1x1 convolution's weights in the order of the intermediate values: a word pairs a channel of the first
    half with one of the second half. None: no requantization constants are exact."""
    depth = view.input.shape[3]
    pairs = np.arange(depth, dtype=np.int64).reshape(2, -1).T.reshape(-1, 2, 2)
    order = pairs.transpose(0, 2, 1).reshape(-1)
    packed = PACKERS[matrix](
        view.once(matrix_of)[:, order], view.once(bias_of), sums_of(view), isinstance(view.writes, Planar)
    )
    return Stream(packed.stream(), packed.shift) if packed else None


def _packed(
    view: View,
    way: DepthwiseGemm,
    depthwise: Packed,
    pointwise: Packed,
    channels: Channels,
    stream: Stream,
    *,
    unrolled: bool,
) -> Packed:
    first, second = view.once(_depthwise), view.once(_pointwise)
    layout = view.once(_layout)
    assert layout is not None
    count, width = first.output.shape[3], first.output.shape[2]
    gemm = pointwise.params["gemm"]
    assert isinstance(gemm, Mapping)
    records = depthwise.params["records"]
    assert isinstance(records, np.ndarray)
    params: Params = {
        "planar": depthwise.params,
        "gemm": {**gemm, "stream": wrap32(stream.words).astype(np.int32)},
        "half": records.size // 2,
        "out_stride": out_row(second),
    }
    last, matrix = _gemm(second, way, stream, unrolled=unrolled)
    stride = first.the(DepthwiseConv2D).vertical.stride
    form = (channels.form, channels.requantization.shift)
    name = f"{way.plain}_s{stride}_{width}x{count}_{layout.line}_{form[0]}_{form[1]}_{matrix}"
    macro = f"MOTE_DEPTHWISE_GEMM{'_TWO' if way.rows == ROWS else ''}{'_ANY' if way.shared else ''}"
    fused = Instance(macro, (name, matrix, way.weights, f"s{stride}", *form), facts=(width, count, layout.line))
    scratch = way.rows * 2 * width * count
    packed = Packed(
        name,
        params,
        Entry(Call.ROWS, taps=3),
        Needs(scratch=scratch, reads=layout, writes=view.writes),
        Price(parts=(depthwise, pointwise)),
        instances=(last, *_functions(name, way, stride, layout.line, count, width, form), fused),
        beats=(way.plain,) if way.dual else (),
    )
    if way.rows == ROWS:
        return replace(
            packed,
            entry=replace(packed.entry, rows=f"{name}_rows", group=ROWS),
            price=replace(packed.price, tile=(ROWS, 1)),
        )
    return replace(packed, entry=replace(packed.entry, row=f"{name}_row"))


def _gemm(view: View, way: DepthwiseGemm, stream: Stream, *, unrolled: bool) -> tuple[Instance, str]:
    """The code of the 1x1 convolution, and its name."""
    form = form_of(view, way.matrix, stream.shift)
    if way.shared:
        name, instance = gemm4x2.shared_instance(form)
        return instance, name
    source = PixelBytes(0, view.input.shape[3] // 4, 0, ready=True)
    target = gemm4x2.target_of(view)
    assert isinstance(target, OutputPlaces)
    fpu, how = way.way == FPU, (form.weights, form.outputs, form.shift)
    name = f"ready_{gemm4x2.name_of(form.name, source, target, dual=way.dual, fpu=fpu, unrolled=unrolled)}"
    text = gemm_code(source, target, *how, dual=way.dual, fpu=fpu, unrolled=unrolled)
    arguments = (name, form.weights, form.outputs, form.shift, target.line, -1, source.words, 0)
    facts = gemm4x2.facts_of(view, source, target, fpu=fpu)
    return Instance("MOTE_GEMM4X2_CODE", arguments, tuple(text), facts), name


def _functions(
    name: str, way: DepthwiseGemm, stride: int, line: int, count: int, width: int, form: tuple[str, int]
) -> tuple[Instance, ...]:
    """Code of the depthwise convolution: for one output row, and for two from contiguous rows or from rows at any
    address."""
    shape = Shape(width // BLOCK, None, stride)
    block = count // 2 * WORD
    to = Outputs("strh", 4, block, width // BLOCK * block, WORD)
    codes = {"one": code(shape, Inputs(ONE, line, None), to, way.weights, *form)}
    if way.rows == ROWS:
        codes["near"] = code(shape, Inputs(TWO[stride], line, count * line), to, way.weights, *form)
        codes["anywhere"] = code(shape, Inputs(TWO[stride], line, None), to, way.weights, *form)
    return tuple(Instance("MOTE_TWO_CODE", (f"{name}_{which}",), tuple(text)) for which, text in codes.items())


FORMS: tuple[tuple[MatrixWeights, Weights], ...] = (
    (MatrixWeights.WIDE, Weights.W16),
    (MatrixWeights.WIDE, Weights.W8),
    (MatrixWeights.PAIR, Weights.W8),
)
KERNELS = tuple(
    _kernel(DepthwiseGemm(matrix, weights, rows, way))
    for way in (DUAL, FPU, "", SHARED)
    for rows in (ROWS, 1)
    for matrix, weights in FORMS
    if way != FPU or matrix is MatrixWeights.WIDE
)
