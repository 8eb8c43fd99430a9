"""One node of a program, as the parsers of operators see it.

A parser is a function `parse(node) -> Value`, or a sequence with one entry for each result. It asks the node for its
arguments by the names that PyTorch has for them, and the builder `node.b` for operators. It raises UnsupportedNodeError
with a reason where Mote cannot compute the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build.builder import Builder, Value
from mote.frontends.build.elementwise import cast
from mote.frontends.build.quantized import uncoded
from mote.frontends.torch.program import TorchProgram
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType

Number = int | float | bool


@dataclass(frozen=True)
class Node:
    """A call of an operator; `values` holds earlier results by name."""

    b: Builder
    program: TorchProgram
    call: Any
    values: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.call.name)

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """All arguments by name, with the defaults of the operator's schema."""
        schema = self.call.target._schema.arguments
        defaults = {a.name: a.default_value for a in schema if a.has_default_value()}
        positional = [a.name for a in schema if not a.kwarg_only]
        return {**defaults, **dict(zip(positional, self.call.args, strict=False)), **self.call.kwargs}

    def has(self, name: str) -> bool:
        """Whether an argument is present."""
        return self.arguments.get(name) is not None

    def given(self, name: str) -> Any:
        """An argument as it is: a number, a list, a node."""
        return self.arguments.get(name)

    def value(self, name: str) -> Value:
        """A tensor argument."""
        value = self.optional(name)
        if value is None:
            raise UnsupportedNodeError(f"argument '{name}' is not there")
        return value

    def optional(self, name: str) -> Value | None:
        """An optional tensor argument."""
        return None if (given := self.given(name)) is None else self._of(given, name)

    def several(self, name: str) -> list[Value]:
        """A list of tensors."""
        return [self._of(x, name) for x in self.given(name) or ()]

    def maybe_several(self, name: str) -> list[Value | None]:
        """A list of optional tensors."""
        return [None if x is None else self._of(x, name) for x in self.given(name) or ()]

    def _of(self, given: Any, name: str) -> Value:
        value = self.values.get(str(getattr(given, "name", "")))
        if not isinstance(value, Value):
            raise UnsupportedNodeError(f"argument '{name}' is not a tensor")
        coded = value.dtype == DType.INT8 and dtype_of(given.meta["val"].dtype) == DType.UINT8
        return uncoded(self.b, value) if coded else value

    def known(self, name: str) -> Array:
        """The data of a tensor that must be constant."""
        return self.b.known(self.value(name), f"argument '{name}'")

    def integer(self, name: str) -> int:
        return int(self._number(name))

    def real(self, name: str) -> float:
        return float(self._number(name))

    def flag(self, name: str) -> bool:
        return bool(self._number(name))

    def text(self, name: str) -> str:
        return str(self.given(name))

    def _number(self, name: str) -> Number:
        number = self.given(name)
        if not isinstance(number, int | float | bool):
            raise UnsupportedNodeError(f"argument '{name}' must be a constant number")
        return number

    def integers(self, name: str) -> list[int]:
        """A list of integers, or one as a list."""
        argument = self.given(name)
        if argument is None:
            return []
        listed = list(argument) if isinstance(argument, Sequence) else [argument]
        if not all(isinstance(x, int) for x in listed):
            raise UnsupportedNodeError(f"argument '{name}' must be constant integers")
        return listed

    def reals(self, name: str) -> list[float]:
        return [float(x) for x in self.given(name) or ()]

    def each(self, name: str, count: int, default: int | None = None) -> list[int]:
        """An integer for each of `count` axes; a single one applies to all."""
        integers = self.integers(name)
        if not integers and default is not None:
            return [default] * count
        if len(integers) not in (1, count):
            raise UnsupportedNodeError(f"argument '{name}' has {len(integers)} integers for {count} axes")
        return integers * count if len(integers) == 1 else integers

    def operand(self, name: str, dtype: DType) -> Value:
        """A tensor or a number, converted to a type."""
        given = self.given(name)
        if isinstance(given, int | float | bool):
            return self.b.constant(np.array(given).astype(dtype.numpy))
        return cast(self.b, self.value(name), dtype)

    def common_type(self, first: str, second: str) -> DType:
        """The promoted type of two tensors, or of a tensor and a number."""
        samples = (self._sample(self.given(name)) for name in (first, second))
        return dtype_of(self.program.torch.result_type(*samples))

    def _sample(self, given: Any) -> Any:
        """A value of an argument's type, for PyTorch's type promotion."""
        return given if isinstance(given, int | float | bool) else given.meta["val"]

    @property
    def shape(self) -> Shape:
        """Shape of the first result."""
        return tuple(self._result.shape)

    @property
    def dtype(self) -> DType:
        """Element type of the first result."""
        return dtype_of(self._result.dtype)

    @property
    def _result(self) -> Any:
        result = self.call.meta["val"]
        return result[0] if isinstance(result, Sequence) else result

    def reads(self, position: int) -> bool:
        """Whether one of several results is read."""
        return any(user.args[1] == position for user in self.call.users if len(user.args) > 1)


Parser = Callable[[Node], Value | Sequence[Value | None]]


def dtype_of(dtype: Any) -> DType:
    """Mote's element type for PyTorch's."""
    name = str(dtype).removeprefix("torch.")
    return DType(name) if name in list(DType) else DType.UNKNOWN
