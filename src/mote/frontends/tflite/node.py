"""One operator of a `.tflite` file, as the parsers of operators see it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mote.frontends.tflite.record import Record
from mote.graph import State, Tensor
from mote.graph.tensor import Array
from mote.graph.types import Activation


class UnsupportedNodeError(Exception):
    """Raised by an operator's parser; collected, so that one message lists every unsupported layer."""


class Padding(StrEnum):
    """SAME: as much as makes one output for each stride, the odd element behind; VALID: none."""

    SAME = "SAME"
    VALID = "VALID"


@dataclass(frozen=True)
class Node:
    """An operator with its options by name; tensors are ids in `tensors`, -1 for optional inputs that are not there."""

    code: str
    index: int
    options: Record
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    tensors: dict[int, Tensor]
    states: tuple[State, ...] = ()
    intermediates: tuple[int, ...] = ()

    def activation(self) -> Activation:
        """The fused activation; one that Mote does not know makes the layer unsupported."""
        name = self.options.choice("fused_activation_function")
        if name not in list(Activation):
            raise UnsupportedNodeError(f"fused activation {name} is not supported")
        return Activation(name)

    def padding(self) -> Padding:
        """How a window is padded; a way that Mote does not know makes the layer unsupported."""
        name = self.options.choice("padding")
        if name not in list(Padding):
            raise UnsupportedNodeError(f"padding {name} is not supported")
        return Padding(name)

    def arity(self, least: int, most: int | None = None, optional: int | None = None) -> None:
        """Refuse other numbers of inputs, inputs that are left out although they are needed (all of the least, but the
        one that is optional), and several outputs."""
        if not least <= len(self.inputs) <= (most or least) or len(self.outputs) != 1:
            raise UnsupportedNodeError(
                f"has {len(self.inputs)} inputs and {len(self.outputs)} outputs, which its operator does not take"
            )
        for position in range(least):
            if position != optional:
                self.input(position)

    def has(self, position: int) -> bool:
        """Whether there is such an input."""
        return position < len(self.inputs) and self.inputs[position] >= 0

    def input(self, position: int = 0) -> Tensor:
        if not self.has(position):
            raise UnsupportedNodeError(f"input {position} is not there")
        return self.tensors[self.inputs[position]]

    def output(self, position: int = 0) -> Tensor:
        if position >= len(self.outputs):
            raise UnsupportedNodeError(f"output {position} is not there")
        return self.tensors[self.outputs[position]]

    def constant(self, position: int, what: str) -> Array:
        """The value of an input that Mote needs at compile time (an axis, a shape, paddings)."""
        data = self.input(position).data if self.has(position) else None
        if data is None:
            raise UnsupportedNodeError(f"{what} must be a constant")
        return data

    def integers(self, position: int, what: str) -> list[int]:
        """The same as a list of integers."""
        return [int(n) for n in self.constant(position, what).reshape(-1)]

    def after(self, *positions: int) -> tuple[int, ...]:
        """What the operator leaves in the states that it is given as the inputs at `positions`: outputs of its own."""
        found = {s.before: s.after for s in self.states}
        if any(self.inputs[p] not in found for p in positions):
            raise UnsupportedNodeError("a state must be a variable tensor")
        return tuple(found[self.inputs[p]] for p in positions)

    def same(self) -> dict[str, Any]:
        """The fields that every Op takes over from the node."""
        return {"inputs": self.inputs, "outputs": self.outputs, "name": self.name, "index": self.index}

    @property
    def where(self) -> str:
        """How messages name it."""
        return f"layer {self.index} {self.code} '{self.name}'"

    @property
    def name(self) -> str:
        """A layer has the name of what it computes."""
        return self.output().name if self.outputs else ""
