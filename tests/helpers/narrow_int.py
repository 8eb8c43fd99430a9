"""Where C would compute something else if `int` had 16 bits: clang's syntax tree for such a core, with the range of
values of every expression."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import mote

COMMAND = ("clang", "-target", "msp430", "-std=c99", "-ffreestanding", "-fsyntax-only", "-ferror-limit=0")
"""For a core whose `int` and pointers have 16 bits."""
HEADERS = Path(mote.__file__).parent / "hardware" / "toolchain" / "harness" / "freestanding" / "include"
"""The part of the C library that kernels use."""
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wno-unused", "-Wno-unknown-pragmas", "-Werror")
BITS = {
    "_Bool": 1, "unsigned char": 8, "unsigned short": 16, "unsigned int": 16, "unsigned long": 32,
    "unsigned long long": 64, "char": -8, "signed char": -8, "short": -16, "int": -16, "long": -32, "long long": -64,
}  # fmt: skip
"""The width of each type, below zero where it is signed."""
SIZES = ("size_t", "ptrdiff_t", "intptr_t", "uintptr_t")
RING = ("+", "-", "*", "<<", "&", "|", "^", "~")
"""Operators whose low bits depend on the low bits of their operands only."""
TRUTH = ("==", "!=", "<", ">", "<=", ">=", "&&", "||", "!")
TAKES_INT = ("memset", "printf")
"""Functions of the C library whose parameters are `int` by definition."""

_LINE = re.compile(r"^(?P<indent>[|` -]*)(?P<kind>[\w:]+)(?: (?P<id>0x[0-9a-f]+))?(?P<rest>.*)$")
_BEGIN = re.compile(r"<(?:(?P<file>[^<>,]*?):)?(?P<line>\d+):\d+[,>]")
_MOVED = re.compile(r"(?:(?P<file>[^<>, ]+?):)?(?P<line>\d+):\d+(?=[,> ])")
_TYPE = re.compile(r"'(?P<said>[^']*)'(?::'(?P<meant>[^']*)')?")


@dataclass
class Node:
    """A line of clang's dump of the syntax tree, with the lines below it."""

    kind: str
    id: str
    text: str
    """What follows the location."""
    place: str
    inner: list[Node] = field(default_factory=list)

    @cached_property
    def quoted(self) -> list[tuple[str, str]]:
        """What stands in quotes: types as they are written and as they are meant, operators and names."""
        return [(m["said"], m["meant"] or m["said"]) for m in _TYPE.finditer(self.text)]

    @cached_property
    def bits(self) -> int | None:
        """The width of an expression that is an integer."""
        if not self.kind.endswith(("Expr", "Operator", "Literal")):
            return None
        return _width(self.quoted[0][1]) if self.quoted else None

    @property
    def is_size(self) -> bool:
        return self.kind == "UnaryExprOrTypeTraitExpr" or any(w in SIZES for w in self.quoted[0][0].split())


@dataclass(frozen=True)
class Range:
    """The values that an expression can have."""

    lo: int
    hi: int
    address: bool = False
    """It is a size or an offset in memory, for which the core's own width is enough."""

    def fits(self, bits: int) -> bool:
        least, largest = _limits(bits)
        return least <= self.lo and self.hi <= largest


@dataclass
class Reader:
    """A walk over the syntax tree of a C file."""

    findings: dict[str, None] = field(default_factory=dict)
    """Each as FILE:LINE: REASON."""
    named: dict[str, int] = field(default_factory=dict)
    """The values of enumerators."""
    last: int = -1
    """The value of the last one."""

    def visit(self, node: Node, *, truncated: bool = False, argument: bool = False) -> Range:
        """The range of an expression. `truncated`: only its low 16 bits matter; `argument`: the C library takes it."""
        bits, inner = node.bits, node.inner
        if node.kind == "EnumDecl":
            self.last = -1
        if bits is None or not inner or node.kind == "CallExpr":
            called = inner[0].inner[:1] if node.kind == "CallExpr" else []
            argument = argument or any(f"'{name}'" in n.text for n in called for name in TAKES_INT)
            found = self._leaf(node, bits)
            for n in inner:
                self.visit(n, argument=argument)
            return found
        whole = Range(*_limits(bits), node.is_size)
        if node.kind == "BinaryOperator":
            op = node.quoted[1][0]
            low = truncated and op in RING
            parts = [self.visit(inner[0], truncated=low), self.visit(inner[1], truncated=low and op != "<<")]
            return self._judged(node, _result(op, *parts, whole), bits, op, truncated)
        if node.kind == "CompoundAssignOperator":
            op, width = node.quoted[1][0], _width(node.quoted[-1][1]) or bits
            exact = _result(op[:-1], *map(self.visit, inner), Range(*_limits(width), node.is_size))
            self._judged(node, exact, width, op, abs(bits) <= 16 and width > 0)
            return whole
        if node.kind == "UnaryOperator" and (op := node.quoted[1][0]) in ("-", "~"):
            part = self.visit(inner[0], truncated=truncated)
            ends = (-part.hi, -part.lo) if op == "-" else (~part.hi, ~part.lo)
            return self._judged(node, Range(*ends, part.address), bits, op, truncated)
        if node.kind == "ConditionalOperator":
            self.visit(inner[0])
            a, b = (self.visit(n, truncated=truncated) for n in inner[1:])
            return Range(min(a.lo, b.lo), max(a.hi, b.hi), a.address or b.address)
        if node.kind in ("ParenExpr", "ConstantExpr"):
            *_, found = (self.visit(n, truncated=truncated, argument=argument) for n in inner)
            return found
        if "<IntegralCast>" in node.text:
            part = self.visit(inner[0], truncated=0 < bits <= 16, argument=argument)
            if part.fits(bits):
                return Range(part.lo, part.hi, part.address or whole.address)
            if node.kind == "CStyleCastExpr" and node.quoted[0][0] in ("int", "unsigned int") and not argument:
                self.findings[f"{node.place}: a cast to {node.quoted[0][0]}"] = None
            return whole
        for n in inner:
            self.visit(n)
        return whole

    def _leaf(self, node: Node, bits: int | None) -> Range:
        if node.kind == "EnumConstantDecl":
            values = re.findall(r"Int (-?\d+)", " ".join(n.kind + n.text for c in node.inner for n in c.inner))
            self.last = int(values[0]) if values else self.last + 1
            self.named[node.id] = self.last
        if node.kind in ("IntegerLiteral", "CharacterLiteral"):
            value = int(node.text.split()[-1])
            return Range(value, value)
        if node.kind == "DeclRefExpr" and (match := re.search(r"EnumConstant (0x[0-9a-f]+)", node.text)):
            value = self.named[match[1]]
            return Range(value, value)
        return Range(0, 0) if bits is None else Range(*_limits(bits), node.is_size)

    def _judged(self, node: Node, exact: Range, bits: int, op: str, truncated: bool) -> Range:
        if exact.fits(bits):
            return exact
        if abs(bits) == 16 and not exact.address and not (truncated and bits > 0):
            self.findings[f"{node.place}: `{op}` gives {exact.lo}..{exact.hi}"] = None
        return Range(*_limits(bits), exact.address)


def findings(source: str, includes: Sequence[Path] = (), flags: Sequence[str] = ()) -> list[str]:
    """What depends on the width of `int` in C: the places and reasons, and what clang warns of."""
    command = [*COMMAND, f"-isystem{HEADERS}", *(f"-I{folder}" for folder in includes), "-xc", "/dev/stdin"]
    warned = subprocess.run([*command, *WARNINGS, *flags], input=source, capture_output=True, text=True, check=False)
    said = [line for line in warned.stderr.splitlines() if "error: " in line]
    dump = [*command, "-w", "-Xclang", "-ast-dump"]
    tree = subprocess.run(dump, input=source, capture_output=True, text=True, check=False)
    reader = Reader()
    for node in _nodes(tree.stdout.splitlines()):
        reader.visit(node)
    return [*said, *reader.findings]


def _nodes(lines: Sequence[str]) -> Iterator[Node]:
    """The declarations of a file."""
    file, line = "", "0"
    above: list[Node] = []
    for text in lines:
        match = _LINE.match(text)
        if match is None:
            continue
        rest = match["rest"]
        end = rest.find(">") + 1 if rest.startswith(" <") or " <" in rest[:60] else 0
        begin = _BEGIN.search(rest[:end])
        if begin is not None:
            file, line = _moved(begin, file, line)
        place = f"{file.rpartition('/')[2]}:{line}"
        for moved in _MOVED.finditer(rest[:end] + rest[end:].split("'")[0] + " "):
            file, line = _moved(moved, file, line)
        node = Node(match["kind"], match["id"] or "", rest[end:], place)
        depth = len(match["indent"]) // 2
        del above[depth:]
        if depth:
            above[-1].inner.append(node)
        above.append(node)
    return iter(above[:1])


def _moved(match: re.Match[str], file: str, line: str) -> tuple[str, str]:
    """Where a location is: clang names only what has changed since the last one."""
    said = match["file"]
    if said == "col":
        return file, line
    return (file if said in (None, "line") else said), match["line"]


@cache
def _width(ctype: str) -> int | None:
    name = " ".join(word for word in ctype.split() if word not in ("const", "volatile"))
    return -16 if name.startswith("enum ") else BITS.get(name)


def _limits(bits: int) -> tuple[int, int]:
    return (-(1 << (-bits - 1)), (1 << (-bits - 1)) - 1) if bits < 0 else (0, (1 << bits) - 1)


def _result(op: str, a: Range, b: Range, whole: Range) -> Range:
    """The values of a binary operator, however many bits they take."""
    corners = [(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    if op == "+":
        ends = [x + y for x, y in corners]
    elif op == "-":
        ends = [x - y for x, y in corners]
    elif op == "*":
        ends = [x * y for x, y in corners]
    elif op == "<<":
        ends = [x << min(max(y, 0), 64) for x, y in corners]
    elif op == ">>":
        ends = [x >> min(max(y, 0), 64) for x, y in corners]
    elif op == "&" and max(a.lo, b.lo) >= 0:
        ends = [0, min(x.hi for x in (a, b) if x.lo >= 0)]
    elif op in ("|", "^") and min(a.lo, b.lo) >= 0:
        ends = [0, (1 << max(a.hi, b.hi).bit_length()) - 1]
    elif op == "%" and b.lo > 0:
        ends = [0 if a.lo >= 0 else 1 - b.hi, min(b.hi - 1, max(a.hi, 0))]
    elif op == "/" and b.lo > 0:
        ends = [a.lo, a.hi, 0]
    elif op in TRUTH:
        return Range(0, 1)
    elif op in (",", "="):
        return b
    else:
        ends = [whole.lo, whole.hi]
    return Range(min(ends), max(ends), a.address or b.address or whole.address)
