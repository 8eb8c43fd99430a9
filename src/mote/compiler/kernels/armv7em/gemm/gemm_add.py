"""Convolutions fused with the element-wise addition after them: `mote_gemm3_add_s8.h`, `mote_gemm4x2_add_s8.h`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from mote.compiler.kernels.armv7em.gemm import gemm3, gemm4x2
from mote.compiler.kernels.contract import Instance, Kernel, Knob, Packed, Refusal, View
from mote.compiler.kernels.pack.arithmetic import affine_params
from mote.compiler.kernels.pack.requantize.add import ONE_STEP
from mote.ir.graph.region import Region, joined
from mote.ir.ops.elementwise.arithmetic import Add
from mote.ir.ops.windows.conv import Conv2D

COSTS = "gemm3_add"
"""Key of the addition's cost in the cost tables."""
Constants = tuple[int, int, int]
"""Fixed-point constants of the addition: multiplier of the convolution's result, additive constant, multiplier of the
other operand."""
Adds = Callable[[Packed, int, Constants], Packed]
"""Function that turns a packed convolution into one with addition; arguments: the convolution, the input index of the
other operand, and the addition's constants."""


def _added(base: Kernel, bind: Callable[[View], Packed | Refusal], packed: Adds, header: str) -> Kernel:
    """A variant of the convolution kernel `base` that adds another tensor. `bind` packs the convolution, and `packed`
    extends it by the addition."""

    def pack(view: View, **knobs: Knob) -> Packed | Refusal:
        if view.output.shape[-1] % 2:
            return Refusal("channels are added two at a time")
        position = view.once(_position)
        if isinstance(position, Refusal):
            return position
        constants = view.once(_constants)
        if isinstance(constants, Refusal):
            return constants
        convolution = view.once(_convolution)
        plain = bind(convolution, **knobs) if knobs else convolution.once(bind)
        return plain if isinstance(plain, Refusal) else packed(plain, position, constants)

    return replace(
        base,
        name=f"{base.name}_add",
        costs=base.costs or base.name,
        computes=(Conv2D, Add),
        pack=pack,
        header=header,
        writes=(),
        knobs=None if base.knobs is None else lambda view: base.choices(view.once(_convolution)),
    )


def _convolution(view: View) -> View:
    return View(view.graph, view.ops[:1], small=view.small)


def _position(view: View) -> int | Refusal:
    """Index of the added tensor among the inputs of the fused operators."""
    region = joined(view.graph, view.ops)
    assert isinstance(region, Region)
    position = next((i for i, (op, _) in enumerate(region.sources) if op == 1), None)
    if position is None:
        return Refusal("it adds a tensor to itself")
    if region.input(view.graph, position).shape != view.output.shape:
        return Refusal("one of its operands is repeated")
    return position


def _constants(view: View) -> Constants | Refusal:
    conv, add = view.ops
    params = affine_params(View(view.graph, (add,)), ONE_STEP)
    if isinstance(params, Refusal):
        return params
    factors, constant = params
    own = add.inputs.index(conv.outputs[0])
    return factors[own], constant, factors[1 - own]


def _packed(plain: Packed, position: int, constants: Constants, instances: tuple[Instance, ...]) -> Packed:
    params, gemm_params = plain.params, plain.params["gemm"]
    assert isinstance(gemm_params, Mapping) and isinstance(gemm_params["stream"], np.ndarray)
    stream = np.concatenate([np.array(constants, np.int32), gemm_params["stream"]])
    return replace(
        plain,
        entry=replace(
            plain.entry,
            operands=(0, position),
            row=f"{plain.name}_add_row" if plain.entry.row else "",
            rows="",
            group=1,
        ),
        needs=replace(plain.needs, in_place=(position,)),
        price=replace(plain.price, costs="", more=COSTS),
        name=f"{plain.name}_add",
        family="",
        params={**params, "gemm": {**gemm_params, "stream": stream}},
        instances=instances,
        beats=tuple(f"{name}_add" for name in plain.beats),
    )


def _three(plain: Packed, position: int, constants: Constants) -> Packed:
    (instance,) = plain.instances
    return _packed(plain, position, constants, (Instance("MOTE_GEMM3_ADD", instance.arguments),))


def _four(plain: Packed, position: int, constants: Constants) -> Packed:
    functions = plain.instances[-1]
    more = Instance(f"{functions.macro.removesuffix('_ANY')}_ADD", functions.arguments[:1])
    return _packed(plain, position, constants, (*plain.instances, more))


KERNELS = (
    *(
        _added(kernel, partial(kernel.pack, added=True), _four, "gemm4x2_add_s8")
        for kernel in (*gemm4x2.FPU_KERNELS, *gemm4x2.KERNELS, *gemm4x2.SHORT_KERNELS)
        if not kernel.name.endswith(gemm4x2.COMPACT)
    ),
    *(_added(kernel, kernel.bind, _three, "gemm3_add_s8") for kernel in gemm3.KERNELS if "sparse" not in kernel.name),
)
