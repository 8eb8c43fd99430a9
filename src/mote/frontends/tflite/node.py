"""One operator of a `.tflite` file, as the parsers of operators see it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import isfinite
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends import limits
from mote.frontends.remedies import RUN_TIME_SIZES
from mote.frontends.tflite.blockwise import BlockwiseScales
from mote.frontends.tflite.file import flexbuffer
from mote.frontends.tflite.file.flatbuffer import MalformedError
from mote.frontends.tflite.file.record import TableRecord
from mote.ir.graph import Quantization, State, Tensor
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation, DType

MANY = 1 << 16
"""Limit of the number of inputs of an operator that takes any."""


class Padding(StrEnum):
    """Window padding. SAME: one output per stride, with an odd element at the end; VALID: none."""

    SAME = "SAME"
    VALID = "VALID"


@dataclass(frozen=True)
class Node:
    """An operator with its options by name; tensors are ids in `tensors`, -1 for omitted optional inputs."""

    code: str
    index: int
    options: TableRecord
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    tensors: dict[int, Tensor]
    states: tuple[State, ...] = ()
    intermediates: tuple[int, ...] = ()
    custom: bytes = b""
    made: list[State] = field(default_factory=list)
    """States of operators that keep data without a variable tensor in the file."""
    open: Collection[int] = ()
    """The tensors with dynamic shapes, whose stored shapes do not count."""
    notes: list[str] = field(default_factory=list)
    """Warnings about the file."""
    blocks: Mapping[int, BlockwiseScales] = field(default_factory=dict)
    """The tensors that are block-wise quantized."""
    arena: tuple[int, ...] = ()
    """Offsets of tensors in the arena, as the file says."""

    def activation(self) -> Activation:
        """The fused activation; an unknown one makes the layer unsupported."""
        name = self.options.choice("fused_activation_function")
        if name not in list(Activation):
            raise UnsupportedNodeError(f"fused activation {name} is not supported")
        return Activation(name)

    def padding(self) -> Padding:
        """The padding of a window; an unknown one makes the layer unsupported."""
        name = self.options.choice("padding")
        if name not in list(Padding):
            raise UnsupportedNodeError(f"padding {name} is not supported")
        return Padding(name)

    def arity(self, least: int, most: int | None = None, optional: int | None = None) -> None:
        """Refuse other numbers of inputs, omitted inputs that are required, and several outputs."""
        if not least <= len(self.inputs) <= (most or least) or len(self.outputs) != 1:
            raise UnsupportedNodeError(
                f"has {len(self.inputs)} inputs and {len(self.outputs)} outputs, which its operator does not take"
            )
        for position in range(least):
            if position != optional:
                self.input(position)

    def has(self, position: int) -> bool:
        """Whether an input is present."""
        return position < len(self.inputs) and self.inputs[position] >= 0

    def input(self, position: int = 0) -> Tensor:
        if not self.has(position):
            raise UnsupportedNodeError(f"input {position} is missing")
        return self.tensors[self.inputs[position]]

    def output(self, position: int = 0) -> Tensor:
        if position >= len(self.outputs):
            raise UnsupportedNodeError(f"output {position} is missing")
        return self.tensors[self.outputs[position]]

    def constant(self, position: int, what: str) -> Array:
        """The value of an input that must be constant (an axis, a shape, paddings)."""
        data = self.input(position).data if self.has(position) else None
        if data is None:
            raise UnsupportedNodeError(f"{what} must be a constant, or follow from shapes", RUN_TIME_SIZES)
        return data

    def integers(self, position: int, what: str) -> list[int]:
        """The value of a constant input as a list of integers."""
        return [int(n) for n in self.constant(position, what).reshape(-1)]

    def block_scales(self, position: int) -> int | None:
        """The scales of a block-wise quantized input, as a new constant of [rows, blocks]."""
        blocks = self.blocks.get(self.inputs[position])
        if blocks is None or blocks.scales is None:
            return None
        made = self.inner("scales of blocks", blocks.scales.shape, DType.FLOAT32, blocks.scales)
        self.tensors[made] = replace(self.tensors[made], stored=blocks.stored)
        return made

    def is_open(self, position: int = 0) -> bool:
        """Whether the shape of an output is dynamic."""
        return self.outputs[position] in self.open

    def check_bias(self, position: int, usual: DType = DType.INT64) -> None:
        """Refuse a bias of a layer with int16 inputs that LiteRT would take for another type: an option tells the type,
        else it is the usual one."""
        option = "quantized_bias_type"
        stated = self.options.choice(option) if option in self.options.fields else DType.FLOAT32
        expected = usual if stated == DType.FLOAT32 else stated
        given = self.input(position).dtype if self.has(position) else usual
        if given != expected:
            raise UnsupportedNodeError(f"{given} biases where LiteRT has {expected} are not supported with int16 input")

    def after(self, *positions: int) -> tuple[int, ...]:
        """The tensors after the operator of the states that are its inputs at `positions`."""
        updated = {s.before: s.after for s in self.states}
        if any(self.inputs[p] not in updated for p in positions):
            raise UnsupportedNodeError("a state must be a variable tensor")
        return tuple(updated[self.inputs[p]] for p in positions)

    def custom_options(self) -> CustomOptions:
        """The options of a custom operator as a FlexBuffer map."""
        return CustomOptions(flexbuffer.read_map(self.custom))

    def inner(
        self, name: str, shape: Shape, dtype: DType, data: Array | None = None, quant: Quantization | None = None
    ) -> int:
        """A new intermediate tensor between two operators of this node."""
        made = Tensor(max(self.tensors) + 1, f"{self.name} ({name})", shape, dtype, quant, data, inner=True)
        limits.check_tensor(made, constant=data is not None)
        self.tensors[made.id] = made
        return made.id

    def state(self, name: str, shape: Shape, dtype: DType, after: int | None = None) -> tuple[int, int]:
        """A new state that begins as zeros: the tensors before and after an inference. `after` may be a tensor of the
        file, which the operator computes and keeps."""
        before = self.inner(name, shape, dtype)
        after = self.inner(f"{name}, kept", shape, dtype) if after is None else after
        self.made.append(State(before, after, np.broadcast_to(np.zeros((), dtype.numpy), shape)))
        return before, after

    def same(self) -> dict[str, Any]:
        """The fields that every Op takes from the node."""
        return {"inputs": self.inputs, "outputs": self.outputs, "name": self.name, "index": self.index}

    @property
    def where(self) -> str:
        """The operator's name in messages."""
        return f"layer {self.index} {self.code} '{self.name}'"

    @property
    def name(self) -> str:
        """The layer's name: that of its first output."""
        return self.output().name if self.outputs else ""


@dataclass(frozen=True)
class CustomOptions:
    """The options of a custom operator by name."""

    values: Mapping[str, flexbuffer.Value]

    def has(self, name: str) -> bool:
        return self.values.get(name) is not None

    def integer(self, name: str, default: int | None = None) -> int:
        """A 32-bit integer option."""
        value = self._number(name, default)
        if value != int(value) or not -(1 << 31) <= value < 1 << 31:
            raise MalformedError(f"the option {name} is {value}")
        return int(value)

    def real(self, name: str, default: float | None = None) -> float:
        """A float option, rounded to float32 as operators take it."""
        value = self._number(name, default)
        with np.errstate(over="ignore"):
            return float(np.float32(value))

    def flag(self, name: str, default: bool | None = None) -> bool:
        return bool(self._number(name, default))

    def _number(self, name: str, default: float | None) -> int | float:
        value = self.values.get(name)
        value = default if value is None else value
        if value is None:
            raise UnsupportedNodeError(f"the option {name} is missing")
        if not isinstance(value, bool | int | float) or not isfinite(value):
            raise MalformedError(f"the option {name} is not a number")
        return value
