"""Python values as C: struct initializers, constant arrays, exact numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from mote.graph.tensor import Array
from mote.plan.kernel import Structs, Value

CTYPES = {
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "float32": "float",
    "bool": "uint8_t",
}
LINE = 116


def identifier(text: str) -> str:
    """`text` as a C identifier."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII).strip("_") or "model"
    return f"_{name}" if name[0].isdigit() else name


def number(x: float | int | np.generic) -> str:
    """A C literal that reads back as exactly x."""
    if isinstance(x, float | np.floating):
        text = str(np.float32(x))
        if text in ("inf", "-inf", "nan"):
            raise ValueError(f"{text} has no C literal")
        return f"{text}f" if any(c in text for c in ".en") else f"{text}.0f"
    value = int(x)
    return "(-2147483647 - 1)" if value == -(1 << 31) else str(value)


@dataclass
class Constants:
    """The constant arrays of a model; equal arrays are stored once."""

    prefix: str
    definitions: list[str] = field(default_factory=list)
    nbytes: int = 0
    _names: dict[tuple[str, bytes], str] = field(default_factory=dict)

    def array(self, hint: str, value: Array | Structs) -> str:
        """The name of a constant that holds `value`, defined on first use."""
        ctype, rows = _content(value)
        key = (ctype, rows.tobytes())
        if key not in self._names:
            name = f"{self.prefix}_{hint}"
            self._names[key] = name
            self.nbytes += 4 * rows.size if isinstance(value, Structs) else rows.nbytes
            self.definitions.append(_definition(name, ctype, rows))
        return self._names[key]

    def struct(self, hint: str, params: Mapping[str, Value], indent: str = "    ") -> str:
        """A struct initializer, one field a line, nested structs on one line."""
        lines = [f"{indent}.{k} = {self._value(f'{hint}_{k}', v)}," for k, v in params.items()]
        return "\n".join(["{", *lines, "}"])

    def _value(self, hint: str, value: Value) -> str:
        if isinstance(value, Mapping):
            inner = ", ".join(f".{k} = {self._value(f'{hint}_{k}', v)}" for k, v in value.items())
            return f"{{{inner}}}"
        if isinstance(value, np.ndarray | Structs):
            return self.array(hint, value)
        return number(value)


def _content(value: Array | Structs) -> tuple[str, Array]:
    if isinstance(value, Structs):
        return value.ctype, value.rows.astype(np.int64)
    return CTYPES[value.dtype.name], np.ascontiguousarray(value)


def _definition(name: str, ctype: str, rows: Array) -> str:
    if rows.ndim == 2 and ctype.startswith("mote_"):
        items = ["{" + ", ".join(map(number, row)) + "}" for row in rows.tolist()]
    elif rows.dtype == np.float32:
        items = [number(x) for x in rows.reshape(-1)]
    else:
        items = [number(x) for x in rows.reshape(-1).astype(np.int64).tolist()]
    return f"static const {ctype} {name}[{len(items)}] MOTE_ALIGNED = {{\n{wrap(items)}\n}};"


def wrap(items: list[str]) -> str:
    """Items separated by commas in lines of a readable length."""
    lines: list[str] = []
    line = "   "
    for item in items:
        if len(line) + len(item) + 2 > LINE:
            lines.append(line)
            line = "   "
        line += f" {item},"
    return "\n".join([*lines, line])
