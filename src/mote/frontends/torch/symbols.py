"""Dynamic dimensions of a file: each is a symbol, or an expression of symbols, and gets a number here. The expressions
are calls of a few functions with symbols and integers. They are parsed and computed here; nothing in a file is
evaluated as code."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from operator import floordiv, mod
from typing import Any

from mote.base.errors import MoteError
from mote.frontends.remedies import batch_of_one
from mote.frontends.torch.archive import MalformedArchiveError, only, record
from mote.ir.graph.tensor import Shape

USUAL_LEAST = 2
"""The least size of a dynamic batch that PyTorch exports: modules are exported for 1 apart."""
MOST_TRIED = 1 << 16
"""Limit of numbers that are tried to solve an expression for its symbol."""
MOST_EXPONENT = 8


def _power(base: int, exponent: int) -> int:
    if not 0 <= exponent <= MOST_EXPONENT:
        raise ArithmeticError
    return int(base**exponent)


_FUNCTIONS: Mapping[str, Callable[..., int]] = {
    "Integer": int,
    "Add": lambda *terms: sum(terms),
    "Mul": lambda *factors: prod(factors),
    "Pow": _power,
    "FloorDiv": floordiv,
    "CleanDiv": floordiv,
    "Mod": mod,
    "PythonMod": mod,
    "Max": lambda *terms: max(terms),
    "Min": lambda *terms: min(terms),
}
_SIGNS = {"Add": "+", "Mul": "*", "FloorDiv": "//"}


@dataclass(frozen=True)
class SymbolicSize:
    """A dynamic dimension."""

    tree: ast.expr

    @property
    def symbols(self) -> list[str]:
        return sorted({_symbol(x) for x in ast.walk(self.tree) if _name(x) == "Symbol"})

    @property
    def alone(self) -> bool:
        """Whether it is a single symbol."""
        return _name(self.tree) == "Symbol"

    def number(self, numbers: Mapping[str, int]) -> int:
        return _value(self.tree, numbers)

    def __str__(self) -> str:
        return _text(self.tree)


@dataclass
class Symbols:
    """The values of symbols, as far as they are known, and their range constraints in the file."""

    limits: Mapping[str, Any]
    numbers: dict[str, int] = field(default_factory=dict)
    assumed: list[str] = field(default_factory=list)
    """Dynamic first axes that were taken for a batch of 1, with what to do where they are none."""

    def shape(self, sizes: Sequence[object], name: str, wanted: Shape | None) -> Shape:
        """The shape of an input. Dynamic dimensions are as requested; else the first one is taken for a batch of 1,
        unless the module was exported for more, and any other is refused."""
        parts = [_size(size) for size in sizes]
        written = "x".join(map(str, parts))
        if wanted is not None and len(wanted) != len(parts):
            raise MoteError(
                f"input '{name}' ({written}) has {len(parts)} axes, not {len(wanted)}",
                remedy=f"give {len(parts)} sizes for it",
            )
        for axis, part in enumerate(parts):
            if isinstance(part, SymbolicSize):
                self._settle(part, axis, None if wanted is None else wanted[axis])
        example = ",".join(str(part) if isinstance(part, int) else "N" for part in parts)
        dimensions = tuple(
            self._number(part, f"axis {axis} of input '{name}' ({written})", f"{name}={example}")
            for axis, part in enumerate(parts)
        )
        if wanted is not None and dimensions != wanted:
            raise MoteError(
                f"input '{name}' is exported for the shape {written}, and cannot have {'x'.join(map(str, wanted))}",
                remedy="give a shape that agrees with it, or export the module with dynamic_shapes",
            )
        if wanted is None and isinstance(parts[0] if parts else 0, SymbolicSize):
            self.assumed.append(batch_of_one(name, "", dimensions))
        return dimensions

    def _settle(self, part: SymbolicSize, axis: int, wanted: int | None) -> None:
        """Solve a dimension for its only unknown symbol."""
        unknown = [symbol for symbol in part.symbols if symbol not in self.numbers]
        if len(unknown) != 1:
            return
        if wanted is None:
            if axis == 0 and part.alone and self._least(unknown[0]) <= USUAL_LEAST:
                self.numbers[unknown[0]] = 1
            return
        for number in self._tried(part, wanted):
            if part.number({**self.numbers, unknown[0]: number}) == wanted:
                self._check(unknown[0], number)
                self.numbers[unknown[0]] = number
                return

    def _least(self, symbol: str) -> int:
        least = record(self.limits.get(symbol) or {}, "a range").get("min_val")
        return least if isinstance(least, int) else 0

    def _tried(self, part: SymbolicSize, wanted: int) -> Iterator[int]:
        return iter([wanted] if part.alone else range(1, MOST_TRIED))

    def _check(self, symbol: str, number: int) -> None:
        """Refuse sizes that the module was not exported for. A batch of 1 is always tried, the usual case of compiled
        models."""
        limits = record(self.limits.get(symbol) or {}, "a range")
        least, most = limits.get("min_val"), limits.get("max_val")
        low = isinstance(least, int) and number < least and number != 1
        if low or (isinstance(most, int) and number > most):
            raise MoteError(
                f"the size {number} is outside of {least} to {most}, for which the module was exported",
                remedy="give another shape, or export the module with other dynamic_shapes",
            )

    def _number(self, part: int | SymbolicSize, what: str, example: str) -> int:
        if isinstance(part, int):
            return part
        if not set(part.symbols) <= set(self.numbers):
            raise MoteError(
                f"{what} is only known at run time",
                remedy=f"say how large it is: --shape {example}, with numbers for N, or export the module without"
                " dynamic_shapes",
            )
        return part.number(self.numbers)


def _size(size: object) -> int | SymbolicSize:
    kind, value = only(size, "a size")
    if kind == "as_int" and isinstance(value, int):
        return value
    if kind != "as_expr":
        raise MalformedArchiveError(f"a size is {kind}")
    try:
        return SymbolicSize(ast.parse(str(record(value, "a size").get("expr_str")), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise MalformedArchiveError("a size is not an expression") from None


def _value(part: ast.expr, numbers: Mapping[str, int]) -> int:
    if isinstance(part, ast.Constant) and isinstance(part.value, int):
        return part.value
    if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub):
        return -_value(part.operand, numbers)
    name = _name(part)
    if name == "Symbol":
        return numbers[_symbol(part)]
    if isinstance(part, ast.Call) and name in _FUNCTIONS:
        try:
            return _FUNCTIONS[name](*(_value(argument, numbers) for argument in part.args))
        except (ArithmeticError, TypeError):
            pass
    raise MalformedArchiveError(f"a size is computed by '{ast.unparse(part)[:80]}', which Mote does not know")


def _name(part: ast.AST) -> str:
    return part.func.id if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) else ""


def _symbol(part: ast.AST) -> str:
    first = part.args[0] if isinstance(part, ast.Call) and part.args else None
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        raise MalformedArchiveError("a symbol has no name")
    return first.value


def _text(part: ast.expr) -> str:
    """An expression in infix notation."""
    name = _name(part)
    if name == "Symbol":
        return _symbol(part)
    if not isinstance(part, ast.Call):
        return ast.unparse(part)
    inner = [_text(argument) for argument in part.args]
    if name == "Integer" and inner:
        return inner[0]
    return _SIGNS[name].join(inner) if name in _SIGNS else f"{name}({', '.join(inner)})"
