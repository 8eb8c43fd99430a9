"""Convolutions in blocks of four pixels and two channels: packed weights, constants and code of `mote_gemm4x2_s8.h`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import gcd
from typing import Any

import numpy as np

from mote.compiler.kernels.armv7em.common import DSP, NO_CONSTANTS
from mote.compiler.kernels.armv7em.gemm.gemm3 import (
    DENSE,
    PACKERS,
    SHORT,
    WEIGHTS,
    GemmForm,
    Stream,
    bias_of,
    form_of,
    out_row,
    refused_of,
)
from mote.compiler.kernels.armv7em.gemm.gemm_assembly import (
    AHEAD,
    STEP_CYCLES,
    MatrixWeights,
    OutputPlaces,
    PixelBytes,
    code,
    fpu_cycles,
    fpu_inputs,
    in_fours,
    loop_cycles,
    loops,
)
from mote.compiler.kernels.armv7em.gemm.gemm_shared_assembly import loop_cycles as shared_loop_cycles
from mote.compiler.kernels.armv7em.gemm.gemm_shared_assembly import shared_code, widening_code
from mote.compiler.kernels.armv7em.ordering import knob
from mote.compiler.kernels.armv7em.ordering.schedule import Order
from mote.compiler.kernels.assembly import MOST_OFFSET
from mote.compiler.kernels.contract import (
    INT8,
    Biases,
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
    aligned,
)
from mote.compiler.kernels.pack.learned_bias import BUILT_IN, learning
from mote.compiler.kernels.pack.params import pad_to
from mote.compiler.kernels.pack.planar import Planar
from mote.compiler.kernels.portable.windows.conv import patch_params, sums_of
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.ops.common import BIAS, learned
from mote.ir.ops.windows.conv import Conv2D

COMPACT, COMPACT_STEPS = "_compact", (12, 11, 10, 9, 8, 7, 6, 5, 4)
"""Name suffix of kernels with compact code, and the unroll factors that are tried for it, the largest first."""
SHORT_CODE = 1024
"""Code size in bytes that compact kernels must not exceed."""
DUAL = "_dual"
"""Name suffix of kernels for dual-issue cores."""
FPU = "_fpu"
"""Name suffix of kernels that keep inputs in FPU registers."""
FOURS = "_fours"
"""Name suffix of code that computes four channels in a pass."""
UNROLLED = "_unrolled"
"""Name suffix of code that is fully unrolled over the products of a sum."""
USUAL, ALL = "usual", "all"
"""Values of the knob `unroll`: the default unrolling, or all products of a sum."""
MOST_UNROLLED, MOST_UNROLLED_DUAL = 62, 96
"""Longest sums, in steps, that can be fully unrolled: inputs of longer ones are out of range of two-word loads, or
(dual-issue, one-word loads) cost more code than they save cycles."""
SHARED = "_shared"
"""Name suffix of kernels whose code is shared by layers of any depth."""
ONTO = "_onto"
"""Name suffix of code that adds its results to the output's present contents."""
PLACES = (0, 2, 1, 3)
"""Position of each of four adjacent pixels in a planar line."""
APART = "_apart"
"""Name suffix of code whose biases are separate from its weights; it is followed by their offset in bytes behind the
widened inputs."""
MOST_STEPS = 1023
"""Longest sum in steps: inputs of longer ones are out of range of immediate offsets."""


def _source(view: View, *, pointwise: bool) -> PixelBytes:
    op, channels = view.the(Conv2D), view.input.shape[3]
    if pointwise:
        return PixelBytes(0, channels // 4, 0)
    line = op.horizontal.kernel * channels
    return PixelBytes(op.vertical.kernel, line // 4, line % 4)


def target_of(view: View) -> OutputPlaces | Refusal:
    """Where outputs are stored: at constant distances from each other if rows are multiples of four pixels."""
    y, (line, before) = view.output.shape, view.writes.planes
    if y[2] % 4:
        return OutputPlaces(line or 1) if 2 * line <= AHEAD else Refusal("lines are too long for rows of such a width")
    places = [4 * (x // 4) + PLACES[x % 4] if line else i * y[3] for i, x in enumerate(range(before, before + 4))]
    if places[3] + (line or 1) > MOST_OFFSET:
        return Refusal("a pixel has too many channels")
    return OutputPlaces(line or 1, tuple(at - places[0] for at in places), fours=y[3] % 4 == 0)


def _stream(view: View, source: PixelBytes, weights: MatrixWeights) -> Stream | Refusal:
    """The weights of the three-pixel kernel (`gemm3`), unless window rows have remainders of less than a word: their
    weights are packed separately, two to a word."""
    if source.rest == 0:
        return view.once(DENSE[weights])
    w = view.constant(1).astype(np.int64)
    lines = w.reshape(w.shape[0], source.taps, -1)
    words, rest = (part.reshape(w.shape[0], -1) for part in np.split(lines, [4 * source.words], axis=2))
    ordered = pad_to(rest, 1, 4).reshape(len(w), -1, 4)[:, :, [0, 2, 1, 3]]
    matrix: Ints = np.concatenate([words, ordered.reshape(len(w), -1)], axis=1)
    packed = PACKERS[weights](matrix, view.once(bias_of), sums_of(view), isinstance(view.writes, Planar))
    if packed is None:
        return NO_CONSTANTS
    used = replace(packed, words=packed.words[:, : source.steps])
    return Stream(form_of(view, weights, packed.shift), used.stream(), pairs=used)


def _refused(view: View, *, pointwise: bool) -> Refusal | None:
    op, y = view.the(Conv2D), view.output.shape
    if y[3] % 2:
        return Refusal("channels are computed two at a time")
    if y[2] < 4 and y[0] * y[1] * y[2] < 4:
        return Refusal("there are fewer than four pixels")
    if op.horizontal.dilation > 1:
        return Refusal("windows are dilated")
    return refused_of(view, pointwise=pointwise)


def pack(
    view: View,
    weights: MatrixWeights,
    *,
    pointwise: bool,
    dual: bool = False,
    fpu: bool = False,
    compact: bool = False,
    shared: bool = False,
    added: bool = False,
    unroll: str = USUAL,
) -> Packed | Refusal:
    """The kernel for a layer. `dual`: scheduled for dual-issue cores; `fpu`: inputs in FPU registers; `compact`: short
    code; `shared`: code for sums of any length; `added`: add the results to the output's present contents; `unroll`:
    value of that knob."""
    if refused := _refused(view, pointwise=pointwise):
        return refused
    source, target = _source(view, pointwise=pointwise), OutputPlaces(1) if shared else target_of(view)
    if isinstance(target, Refusal):
        return target
    if source.steps > MOST_STEPS:
        return Refusal("sums are too long")
    if learned(view.graph, view.op) and (shared or added):
        return BUILT_IN
    stream = _stream(view, source, weights)
    if isinstance(stream, Refusal):
        return stream
    if shared:
        return _shared(view, source, stream, added=added) if source.rest == 0 else Refusal("lines are not whole words")
    target = replace(target, added=added)
    if fpu and not fpu_inputs(source).steps:
        return Refusal("lines of windows have no whole words")
    if not compact:
        return _packed(view, source, target, stream, dual=dual, fpu=fpu, unrolled=unroll == ALL)
    longest = _packed(view, source, target, stream, dual=dual)
    if longest.code_bytes <= SHORT_CODE:
        return Refusal("its code is short as it is")
    tried = (_packed(view, source, replace(target, fours=False), stream, most=most) for most in COMPACT_STEPS)
    return next(
        (packed for packed in tried if packed.code_bytes <= SHORT_CODE), Refusal("its code is long in any case")
    )


def name_of(
    form: str,
    source: PixelBytes,
    target: OutputPlaces,
    *,
    dual: bool = False,
    fpu: bool = False,
    most: int | None = None,
    unrolled: bool = False,
    apart: int | None = None,
) -> str:
    """Name of the generated code for a form of weights and outputs."""
    where = "x".join(map(str, target.places)).replace("-", "m") if target.places else "apart"
    shape = f"{source.taps}x{source.words}_{source.rest}" if source.taps else f"{source.words}"
    ends = (
        DUAL if dual else "",
        FPU if fpu else "",
        f"{COMPACT}{most}" if most else "",
        UNROLLED if unrolled else "",
        ONTO if target.added else "",
        FOURS if in_fours(source, target, fpu=fpu) else "",
        f"{APART}{apart}" if apart is not None else "",
    )
    return f"{form}_{shape}_{target.line}_{where}{''.join(ends)}"


def _packed(
    view: View,
    source: PixelBytes,
    target: OutputPlaces,
    stream: Stream,
    *,
    dual: bool = False,
    fpu: bool = False,
    most: int | None = None,
    unrolled: bool = False,
) -> Packed:
    form, apart = stream.form, _apart(view, source)
    name = name_of(form.name, source, target, dual=dual, fpu=fpu, most=most, unrolled=unrolled, apart=apart)
    how = (form.weights, form.outputs, form.shift)
    text = code(source, target, *how, dual=dual, fpu=fpu, most=most, unrolled=unrolled, apart=apart)
    shape = form.weights, form.outputs, form.shift, target.line, source.taps, source.words, source.rest
    arguments = (name, *shape) if apart is None else (name, *shape, apart)
    added = "_APART" if apart is not None else "_ADD" if target.added else ""
    macro = f"MOTE_GEMM4X2{added}_CODE"
    kind, instance = kind_of(source), Instance(macro, arguments, text, facts_of(view, source, target, fpu=fpu))
    more = float(loop_cycles(source.steps, most) - loop_cycles(source.steps))
    if fpu:
        more = fpu_cycles(source) - STEP_CYCLES * source.steps - loop_cycles(source.steps)
    return replace(
        _called(view, source, stream, name, instance, slower=_slower(source, more)),
        beats=(f"{kind}_{form.stored}", f"{kind}_{form.stored}{COMPACT}") if dual else (),
    )


def _apart(view: View, source: PixelBytes) -> int | None:
    """Byte offset of trained biases behind the widened inputs; None: biases are part of the weight stream."""
    if BIAS not in learned(view.graph, view.op):
        return None
    return aligned((_conv if source.taps else _pointwise)(view, source)[1])


def _biases(view: View, stream: Stream) -> Biases | None:
    pairs = stream.pairs
    if pairs is None or BIAS not in learned(view.graph, view.op):
        return None
    return Biases("", 1, pairs.scale, wrap32(pairs.biases).astype(np.int32).reshape(-1), pairs.paired)


def kind_of(source: PixelBytes) -> str:
    return "conv4x2" if source.taps else "pointwise4x2"


def _shared(view: View, source: PixelBytes, stream: Stream, *, added: bool) -> Packed:
    """The kernel with code for sums of any length, and outputs at any distance."""
    name, instances = shared_instances(stream.form, source.taps, added=added)
    slower = _slower(source, shared_loop_cycles(source.steps) - shared_loop_cycles(2))
    packed = _called(view, source, stream, name, instances[0], slower=slower)
    return replace(packed, instances=instances)


def shared_instances(form: GemmForm, taps: int, *, added: bool = False) -> tuple[str, tuple[Instance, ...]]:
    """Name and instances of the kernel that layers of any depth share, for this form of weights and outputs and windows
    of `taps` rows (0: 1x1)."""
    code, products = shared_instance(form, added=added)
    name = f"{form.name}_{f'{taps}x' if taps else ''}any{ONTO if added else ''}"
    widening = Instance("MOTE_GEMM4X2_WIDENING", (taps,), widening_code(taps))
    called = Instance(f"MOTE_{'CONV4X2' if taps else 'POINTWISE4X2'}_ANY", (name, code, taps))
    return name, (products, widening, called)


def _slower(source: PixelBytes, cycles: float) -> float:
    """Factor by which products take longer if each accumulation over the inputs of pixels takes `cycles` more."""
    return 1 + cycles / (STEP_CYCLES * source.steps)


def shared_instance(form: GemmForm, *, added: bool = False) -> tuple[str, Instance]:
    """Name and code of the matrix product that layers with this form of weights and outputs share."""
    name = f"{form.name}_products{ONTO if added else ''}"
    text = shared_code(form.weights, form.outputs, form.shift, added=added)
    macro = "MOTE_GEMM4X2_ADD_ANY_CODE" if added else "MOTE_GEMM4X2_ANY_CODE"
    return name, Instance(macro, (name, form.weights, form.outputs, form.shift), text)


def _called(
    view: View, source: PixelBytes, stream: Stream, name: str, code: Instance, *, slower: float = 1.0
) -> Packed:
    """The kernel that calls the code `name`; `slower`: factor by which its products take longer."""
    y, kind = view.output.shape, kind_of(source)
    several = y[0] == 1 and (not source.taps or view.the(Conv2D).vertical.dilation == 1)
    params, scratch = _conv(view, source) if source.taps else _pointwise(view, source)
    gemm: Params = {
        "depth": 2 * source.steps,
        "channels": y[3],
        "pixel": y[3],
        "planes": view.writes.planes[0],
        "before": view.writes.planes[1],
        "stream": wrap32(stream.words).astype(np.int32),
    }
    return Packed(
        f"{kind}_{name}",
        params | {"gemm": gemm},
        Entry(
            Call.ROWS,
            row=f"{kind}_{name}_row" if source.taps else "",
            rows=f"{kind}_{name}_rows" if several else "",
            taps=source.taps,
            group=4 // gcd(y[2], 4) if several and y[2] < SHORT else 1,
        ),
        Needs(scratch=scratch, writes=view.writes),
        Price(tile=(1, 4), whole_tiles=True, density=slower),
        instances=(code, Instance(f"MOTE_{kind.upper()}", (name,))),
        biases=_biases(view, stream),
    )


def facts_of(view: View, source: PixelBytes, target: OutputPlaces, *, fpu: bool = False) -> tuple[int, ...]:
    """Constants for the fields `near`, `place` and `fours` of `mote_gemm4x2_built_t`."""
    if target.places is None:
        return 0, 0, 0
    place = view.writes.before % 4 if isinstance(view.writes, Planar) else view.output.shape[3]
    return 1, place, int(in_fours(source, target, fpu=fpu))


def _pointwise(view: View, source: PixelBytes) -> tuple[Params, int]:
    """Parameters `mote_pointwise3_t` without weights, and scratch bytes."""
    x, y = view.input.shape, view.output.shape
    params: Params = {"width": y[2], "in_channels": x[3], "in_stride": x[2] * x[3], "out_stride": out_row(view)}
    return params, 16 * source.steps


def _conv(view: View, source: PixelBytes) -> tuple[Params, int]:
    """Parameters `mote_conv4x2_t` without weights, and scratch bytes."""
    op, x, y = view.the(Conv2D), view.input.shape, view.output.shape
    patch = patch_params(view)
    window = patch["rows"]
    assert isinstance(window, dict)
    patch["rows"] = window | {"out_stride": out_row(view)}
    line = op.horizontal.kernel * x[3]
    waiting = 16 * source.steps
    columns = waiting + (4 * source.taps * line if y[2] % 4 else 0)
    padded = any((op.horizontal.before, op.horizontal.after, op.vertical.before, op.vertical.after))
    end = columns + (source.taps * (3 * op.horizontal.stride * x[3] + line) if padded and y[2] > 3 else 0)
    return {"patch": patch, "waiting": waiting, "columns": columns}, aligned(end)


WAYS: dict[str, tuple[frozenset[str], frozenset[str], dict[str, Any]]] = {
    "": (DSP, frozenset(), {}),
    DUAL: (DSP | {"dual"}, frozenset(), {"dual": True}),
    FPU: (DSP | {"fpu"}, frozenset({"dual", "mve"}), {"fpu": True}),
    COMPACT: (DSP, frozenset(), {"compact": True}),
    SHARED: (DSP, frozenset({"mve"}), {"shared": True}),
}
"""For each suffix of a kernel's name: core features it requires, core features that exclude it, and arguments of
`pack`."""
ORDERS: dict[str, tuple[Order, ...]] = {DUAL: knob.DUAL, FPU: knob.SINGLE}
"""Values of the knob `order` for kernels that run on some cores only."""


def _kernel(weights: MatrixWeights, *, pointwise: bool, way: str = "") -> Kernel:
    """The catalogue entry; `way`: suffix of its name, a key of WAYS."""
    name = f"{'pointwise4x2' if pointwise else 'conv4x2'}_{weights}"
    isa, unless, arguments = WAYS[way]
    kernel = Kernel(
        name + way,
        (Conv2D,),
        INT8,
        partial(pack, weights=weights, pointwise=pointwise, **arguments),
        header="gemm4x2_s8",
        isa=isa,
        unless=unless,
        lanes=2,
        costs=name + (SHARED if way == SHARED else ""),
        writes=(Planar,),
    )
    if way == SHARED:
        return kernel
    knobs = partial(unrolling, pointwise=pointwise, way=way) if way != COMPACT else None
    return learning(knob.with_order(replace(kernel, knobs=knobs), ORDERS.get(way, knob.BOTH)))


def unrolling(view: View, *, pointwise: bool, way: str) -> Mapping[str, tuple[Knob, ...]]:
    """The knob `unroll`, for layers with a loop over the products of a sum."""
    source = _source(view, pointwise=pointwise)
    most = MOST_UNROLLED_DUAL if way == DUAL else MOST_UNROLLED
    return {"unroll": (USUAL, ALL)} if source.steps <= most and loops(source, fpu=way == FPU) else {}


FPU_KERNELS = tuple(_kernel(MatrixWeights.WIDE, pointwise=pointwise, way=FPU) for pointwise in (True, False))
KERNELS = tuple(
    _kernel(weights, pointwise=pointwise, way=way)
    for way in (DUAL, "")
    for pointwise in (True, False)
    for weights in WEIGHTS
)
SHORT_KERNELS = tuple(
    _kernel(weights, pointwise=pointwise, way=way)
    for way in (COMPACT, SHARED)
    for pointwise in (True, False)
    for weights in WEIGHTS
)
"""Kernels with less code, for small flash: compact, or shared by layers."""
