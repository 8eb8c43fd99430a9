"""VAR_HANDLE, CALL_ONCE, READ_VARIABLE and ASSIGN_VARIABLE: the variables of a `.tflite` file become states.

A read is another name for what the variable holds at that point of the file. What it holds at the end is what the next
inference finds: one ASSIGN_VARIABLE for each variable, after everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.base.text import printable
from mote.frontends.tflite.file.record import TableRecord
from mote.ir.graph import Op, State, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.control.state import Assign

OPERANDS = {"VAR_HANDLE": (0, 1), "CALL_ONCE": (0, 0), "READ_VARIABLE": (1, 1), "ASSIGN_VARIABLE": (2, 0)}
"""The operators on variables, and their numbers of inputs and outputs."""

Key = tuple[str, str]
"""Container and shared name, which identify a variable."""


class VariableError(UnsupportedNodeError):
    """An invalid or unsupported use of variables."""


@dataclass(frozen=True)
class FileOperator:
    """An operator as the file has it."""

    code: str
    options: TableRecord
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    intermediates: tuple[int, ...] = ()
    custom: bytes = b""
    """The options of a custom operator, undecoded."""


@dataclass
class Variables:
    """The variables during a pass over the operators of the file. `tensors` is changed along the way."""

    tensors: dict[int, Tensor]
    initial: Mapping[Key, Array]
    handles: dict[int, Key] = field(default_factory=dict)
    before: dict[Key, int] = field(default_factory=dict)
    """The tensor of each variable's initial value."""
    held: dict[Key, int] = field(default_factory=dict)
    """The tensor of each variable's current value."""
    names: dict[int, int] = field(default_factory=dict)
    """Tensors that are read results, as aliases of others."""

    def value(self, tensor: int) -> int:
        return self.names.get(tensor, tensor)

    def take(self, call: FileOperator) -> None:
        """Process one operator."""
        if call.code == "VAR_HANDLE":
            self.handles[call.outputs[0]] = handle_key(call.options)
        elif call.code == "READ_VARIABLE":
            self._read(self._key(call.inputs[0]), call.outputs[0])
        elif call.code == "ASSIGN_VARIABLE":
            key, value = self._key(call.inputs[0]), self.value(call.inputs[1])
            self._check(key, self.tensors[value], "given")
            self.held[key] = value

    def _key(self, handle: int) -> Key:
        if handle not in self.handles:
            raise VariableError("its handle does not come from VAR_HANDLE")
        return self.handles[handle]

    def _read(self, key: Key, tensor: int) -> None:
        if key not in self.held:
            given, t = self.initial.get(key), self.tensors[tensor]
            if given is None:
                raise VariableError(f"variable '{printable(key[1])}' is read before it was assigned")
            if given.shape != t.shape or given.dtype.name != t.dtype:
                raise VariableError(
                    f"variable '{printable(key[1])}' begins as {given.dtype.name} {given.shape}, it is read as"
                    f" {t.dtype} {t.shape}"
                )
            self.before[key] = self.held[key] = tensor
        elif self.held[key] != tensor:
            self.names[tensor] = self.held[key]

    def initial_tensor(self, key: Key) -> int:
        """The tensor of the variable's initial value; a new one where nothing has read it before."""
        if key not in self.before:
            first = self.initial.get(key)
            if first is None:
                raise VariableError(f"variable '{printable(key[1])}' is used before it was assigned")
            new = max(self.tensors) + 1
            self.tensors[new] = Tensor(new, printable(key[1]), first.shape, DType(first.dtype.name), inner=True)
            self.before[key] = new
        return self.before[key]

    def current(self, key: Key) -> int:
        """The tensor of the variable's current value."""
        if key not in self.held:
            self.held[key] = self.initial_tensor(key)
        return self.held[key]

    def _check(self, key: Key, t: Tensor, done: str) -> None:
        """Refuse assignments of another type or shape."""
        first = self.initial.get(key)
        if first is not None and (first.shape != t.shape or first.dtype.name != t.dtype):
            begins = f"variable '{key[1]}' begins as {first.dtype.name} {first.shape}"
            raise VariableError(f"{begins}, it is {done} {t.dtype} {t.shape}")

    def finish(self) -> tuple[tuple[State, ...], tuple[Op, ...]]:
        """The states, and the operators that write them; a variable that never changes becomes a constant."""
        states, ops = [], []
        for key, before in self.before.items():
            value, tensor = self.held[key], self.tensors[before]
            if value == before:
                self.tensors[before] = replace(tensor, data=self.initial[key])
                continue
            after = max(self.tensors) + 1
            self.tensors[after] = replace(tensor, id=after, name=f"{tensor.name} (kept)", copy_of=value)
            states.append(State(before, after, self.initial[key]))
            ops.append(Assign(inputs=(before, value), outputs=(after,), name=printable(key[1])))
        return tuple(states), tuple(ops)


def handle_key(options: TableRecord) -> Key:
    return options.string("container"), options.string("shared_name")


def initial_values(calls: list[FileOperator], tensors: Mapping[int, Tensor]) -> dict[Key, Array]:
    """The values that the operators of an initialization subgraph (CALL_ONCE) assign to variables."""
    handles: dict[int, Key] = {}
    initial: dict[Key, Array] = {}
    for call in calls:
        if call.code == "VAR_HANDLE":
            handles[call.outputs[0]] = handle_key(call.options)
        elif call.code == "ASSIGN_VARIABLE" and call.inputs[0] in handles:
            data = tensors[call.inputs[1]].data
            if data is None:
                raise VariableError("it assigns a value to a variable that is not constant")
            if not np.all(np.isfinite(data)):
                raise VariableError("it assigns infinity or NaN to a variable")
            initial[handles[call.inputs[0]]] = data
        else:
            raise VariableError(f"it runs {call.code}; only constants can be assigned to variables")
    return initial
