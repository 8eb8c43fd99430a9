"""Kernels bound to layers, with the room that a step of an image gives them: what `rooms.c` tries to break.

A case is a kernel's parameters, the arrays that they point to, and how an image calls it. `Collection` takes them from
graphs, for every kernel and every form of a call; `Rooms` builds the kernels with their checks and the sanitizers, and
lets them run with mutants of the cases.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from mote.compiler.emit.image.entries import Limits, entry_files, has_checks
from mote.compiler.emit.image.kernels import KernelRecord, record
from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import NHWC, Call, Layout, Packed, Structs, View
from mote.compiler.kernels.structs import words
from mote.compiler.lower.affine import Affine, affine
from mote.compiler.lower.program import Form
from mote.hardware.toolchain import cache
from mote.hardware.toolchain.builder import SANITIZE
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.rows import row_count
from mote.ir.ops.moves.constant import ConstantOutput

HERE = Path(__file__).parent
RUNTIME = HERE.parents[2] / "src/mote/compiler/emit/image/runtime"
OPERANDS = 16
NONE = Affine(0, 0, 0)
"""The formula of what no formula says."""
MOST_ROWS = 200
MOST_BYTES = 100_000
"""Of a tensor, and of the constants: kernels are tried often, so layers are small."""
FLAGS = [
    *("-std=gnu99", "-O0", "-g0", "-w", "-Werror=implicit-function-declaration", "-fwrapv", "-fno-strict-aliasing"),
    *SANITIZE,
]
OPTIONS = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=0:detect_leaks=0:replace_intrin=1:detect_odr_violation=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


@dataclass(frozen=True)
class Read:
    """What a call reads of an operand: all of it, or `taps` of its rows, in each turn."""

    nbytes: int
    """Of the tensor, or of one of its rows."""
    fixed: bool
    """It is a constant."""
    taps: int = 0
    """EACH: as many as lie one after another, of which one is given."""
    outside: bool = False
    formula: Affine = NONE
    rows: int = 0
    listed: tuple[int, ...] = ()


@dataclass(frozen=True)
class Case:
    """A call of a kernel."""

    kernel: KernelRecord
    packed: Packed
    form: Form
    reads: tuple[Read, ...]
    out: int
    lo: int = 0
    hi: int = 0
    most: int = 1

    @property
    def name(self) -> str:
        return f"{self.kernel.name} {self.form.name}"

    @cached_property
    def data(self) -> bytes:
        """The case as `rooms.c` reads it."""
        image, given = _image(words(self.kernel.fields, self.packed.params))
        first = self.reads[0] if self.reads else Read(0, False)
        fixed = sum(r.fixed << i for i, r in enumerate(self.reads))
        outside = sum(r.outside << i for i, r in enumerate(self.reads))
        nbytes, taps = [r.nbytes for r in self.reads], [r.taps for r in self.reads]
        head = [self.kernel.id, self.form, len(self.reads), fixed, len(given), len(image), len(first.listed)]
        numbers = [*_padded(nbytes), *_padded(taps), first.formula.start, first.formula.step, first.formula.spread]
        numbers += [
            first.rows,
            self.lo,
            self.hi,
            self.most,
            self.out,
            self.packed.needs.scratch or 0,
            self.packed.needs.sums,
        ]
        all_words = [*head, *numbers, outside, *given, *first.listed]
        return struct.pack(f"<{len(all_words)}I", *(w & 0xFFFFFFFF for w in all_words)) + image


def _padded(values: Sequence[int]) -> list[int]:
    return [*values, *[0] * (OPERANDS - len(values))]


def _image(parameters: Sequence[object]) -> tuple[bytes, list[int]]:
    """The arrays one after another, as an image has them, and the parameters with their places. Place 0 is NULL."""
    image, given = bytearray(8), list[int]()
    for value in parameters:
        if isinstance(value, Structs | np.ndarray):
            array = value.rows.astype(np.uint32) if isinstance(value, Structs) else value
            given.append(len(image))
            image += array.tobytes() or bytes(4)
            image += bytes(-len(image) % 8)
        else:
            assert isinstance(value, int)
            given.append(value)
    return bytes(image), given


def cases(graph: Graph, op: Op, features: Iterable[frozenset[str]] = (frozenset(),)) -> Iterator[Case]:
    """Every kernel that a core with some of these features has for an operator, called in every way."""
    if isinstance(op, ConstantOutput) or op.bodies or op.is_view or not op.activations(graph):
        return
    view = View(graph, (op,))
    packed = [p for f in features for coded in (False, True) for p in catalogue.candidates(view, f, coded=coded)]
    packed += [p for call in (Call.ADDS, Call.RING) if (p := catalogue.by_call(view, call)) is not None]
    for kernel in packed:
        yield from calls(graph, op, kernel)


def calls(graph: Graph, op: Op, packed: Packed) -> Iterator[Case]:
    """Every way in which an image may call a kernel that is bound to an operator, if it is no large one."""
    sizes = [packed.constants, *(t.nbytes for t in (op.output(graph), *op.activations(graph)))]
    if max(sizes) > MOST_BYTES or len(packed.entry.operands) > OPERANDS or not has_checks(packed.headers):
        return
    yield from _calls(graph, op, packed)


def _calls(graph: Graph, op: Op, packed: Packed) -> Iterator[Case]:
    known, output = record(packed), op.output(graph)
    rows = min(row_count(output.shape), MOST_ROWS)
    tensors = [op.input(graph, p) for p in packed.entry.operands]
    out = _nbytes(output, packed.needs.writes)
    whole = [
        Read(_nbytes(t, packed.needs.reads if i == 0 else NHWC), t.data is not None) for i, t in enumerate(tensors)
    ]
    if packed.entry.call is Call.RING:
        window = op.output(graph)
        count = packed.params["rows"]
        assert isinstance(count, int)
        yield Case(known, packed, Form.RING, tuple(whole), window.nbytes, hi=count)
        return
    if packed.entry.call is Call.ADDS:
        taken = op.reads(graph, 0, 0) or tuple(range(row_count(tensors[0].shape)))
        row = _rows(tensors[0], [(0,)], whole[0])
        yield Case(known, packed, Form.SUMS, (row,), out, 0, len(taken))
        return
    hi = {Call.FLAT: packed.entry.units, Call.ROWS: row_count(output.shape)}.get(packed.entry.call, 0)
    yield Case(known, packed, Form.WHOLE, tuple(whole), out, 0, hi)
    reads = [[op.reads(graph, p, y) for y in range(rows)] for p in packed.entry.operands]
    if any(r is None for read in reads for r in read) or packed.entry.call is Call.WHOLE:
        return
    found = [_rows(t, [r or () for r in read], w) for t, read, w in zip(tensors, reads, whole, strict=True)]
    row_out = out // row_count(output.shape)
    if packed.entry.row or packed.entry.rows:
        found[1:] = map(_in_one_piece, found[1:], whole[1:])
    if packed.entry.row:
        yield Case(known, packed, Form.ROW, tuple(found), row_out, 0, rows)
    elif all(r.taps == 1 and not r.outside for r in found):
        units = packed.entry.units // row_count(output.shape) if packed.entry.call is Call.FLAT else 1
        behind = [row_count(t.shape) - max(r[0] for r in read if r) for t, read in zip(tensors, reads, strict=True)]
        given = [replace(read, taps=n) for read, n in zip(found, behind, strict=True)]
        yield Case(known, packed, Form.EACH, tuple(given), row_out, 0, units)
    if packed.entry.rows and packed.entry.group > 1 and not found[0].listed:
        taps = (packed.entry.group - 1) * found[0].formula.step + found[0].taps
        several = Read(found[0].nbytes, found[0].fixed, taps, True, found[0].formula, found[0].rows)
        yield Case(known, packed, Form.ROWS, (several, *found[1:]), row_out, 0, rows, packed.entry.group)


def _in_one_piece(read: Read, whole: Read) -> Read:
    """What is read whole for every row, as weights that learn, is a single row."""
    if read.listed or (read.taps, read.formula.start, read.formula.step) != (1, 0, 0):
        return read
    return replace(read, nbytes=whole.nbytes, rows=1)


def _nbytes(t: Tensor, layout: Layout) -> int:
    if layout == NHWC:
        return t.nbytes
    return row_count(t.shape) * layout.row_bytes(t, row_count(t.shape))


def _rows(t: Tensor, reads: Sequence[tuple[int, ...]], whole: Read) -> Read:
    """What is read of a tensor row by row."""
    have, count = row_count(t.shape), max(map(len, reads))
    nbytes = whole.nbytes // have
    outside = any(r < 0 for taken in reads for r in taken) or any(len(r) < count for r in reads)
    samples = [(y, k, r) for y, taken in enumerate(reads) for k, r in enumerate(taken)]
    formula = affine(samples, have) if all(len(r) == count for r in reads) else None
    if formula is not None:
        return Read(nbytes, whole.fixed, count, outside, formula, have)
    listed = tuple(r for taken in reads for r in (*taken, *[-1] * (count - len(taken))))
    return Read(nbytes, whole.fixed, count, outside, rows=have, listed=listed)


@dataclass
class Collection:
    """Cases of many graphs: so many of each kernel and form, those that came first."""

    each: int = 3
    features: tuple[frozenset[str], ...] = (frozenset(),)
    found: dict[str, list[Case]] = field(default_factory=lambda: defaultdict(list))
    """By the kernel and the form."""
    _seen: set[int] = field(default_factory=set)

    def add(self, graph: Graph) -> None:
        for op in graph.ops:
            for case in cases(graph, op, self.features):
                self.take(case)

    def note(self, view: View, packed: Packed) -> None:
        """A kernel that is bound to one operator."""
        if len(view.ops) == 1:
            for case in calls(view.graph, view.op, packed):
                self.take(case)

    def take(self, case: Case) -> None:
        kept = self.found[case.name]
        if len(kept) < self.each and hash(case.data) not in self._seen:
            self._seen.add(hash(case.data))
            kept.append(case)

    @property
    def cases(self) -> list[Case]:
        return [case for kept in self.found.values() for case in kept]


@dataclass(frozen=True)
class Finding:
    """A check that refuses what it should admit, or admits what breaks its kernel."""

    case: Case
    number: int
    """Of the case in the file of cases."""
    mutant: int
    log: str

    def __str__(self) -> str:
        return f"{self.case.name}: case {self.number}, mutant {self.mutant}\n{self.log}"


def _compile(command: Sequence[str]) -> None:
    subprocess.run(command, check=True)


@dataclass
class Rooms:
    """The kernels of some cases with their checks, built once."""

    cases: Sequence[Case]
    folder: Path
    unchecked: bool = False
    """All parameters are admitted."""
    admitted: Counter[str] = field(default_factory=Counter)
    """Mutants of each kernel that ran."""
    tried: int = 0

    @cached_property
    def program(self) -> Path:
        taps = max(case.packed.entry.taps for case in self.cases)
        limits = Limits(taps=max(taps, Limits.taps))
        files = entry_files([case.kernel for case in self.cases], limits)
        if self.unchecked:
            files = {name: re.sub(r"return mote_\w+_fits\(p, room\)", "return 1", files[name]) for name in files}
        sources = self.folder / "sources"
        sources.mkdir(parents=True, exist_ok=True)
        for path in RUNTIME.glob("*.h"):
            if path.name not in files:
                files[path.name] = path.read_text(encoding="utf-8")
        for name, text in files.items():
            (sources / name).write_text(text, encoding="utf-8")
        headers = [sources / name for name in files if name.endswith(".h")]
        names = [name for name in files if name.endswith(".c")]
        objects = [self._object(source, headers) for source in (*(sources / name for name in names), *self.parts)]
        program = self.folder / "rooms"
        subprocess.run([*self.compiler, *map(str, objects), "-o", str(program)], check=True)
        return program

    @property
    def compiler(self) -> list[str]:
        return ["gcc", *FLAGS]

    @property
    def parts(self) -> tuple[Path, ...]:
        """What the program has beside kernels."""
        return (HERE / "rooms.c",)

    @property
    def command(self) -> list[str]:
        """What runs the program."""
        return [str(self.program)]

    def _object(self, source: Path, headers: Sequence[Path]) -> Path:
        made = self.folder / f"{source.stem}.o"
        command = [*self.compiler, f"-I{self.folder / 'sources'}", "-c", str(source), "-o", str(made)]
        said = cache.key(self.compiler, [source, *headers])
        cache.fetch(said, made, lambda: _compile(command))
        return made

    def run(self, mutants: int, seed: int = 1) -> list[Finding]:
        """What is wrong; a case that breaks is left, the next ones are tried all the same."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "cases").write_bytes(b"".join(case.data for case in self.cases))
        found: list[Finding] = []
        first = 0
        while first < len(self.cases):
            at = self.folder / "at"
            at.write_bytes(bytes(8))
            given = [str(self.folder / "cases"), str(mutants), str(seed), str(at), str(first)]
            command = [*self.command, *given]
            done = subprocess.run(command, capture_output=True, text=True, env=os.environ | OPTIONS, check=False)
            for number, whole, admitted in (map(int, line.split()) for line in done.stdout.splitlines()):
                case = self.cases[number]
                self.tried += mutants
                self.admitted[case.kernel.name] += admitted
                found += [] if whole else [Finding(case, number, 0, "refused")]
            if done.returncode == 0:
                break
            number, mutant = struct.unpack("<II", at.read_bytes())
            found.append(Finding(self.cases[number], number, mutant, done.stderr[-4000:]))
            first = max(number, first) + 1
        return found


class GuardedRooms(Rooms):
    """The same in the assembly of Cortex-M4, which the sanitizers do not see: memory ends where a page does that nobody
    may touch. The emulator is one of the instructions only."""

    EMULATOR: ClassVar[str] = "qemu-arm"
    COMPILER: ClassVar[str] = "arm-none-eabi-gcc"

    @property
    def compiler(self) -> list[str]:
        core = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=softfp", "-mfpu=fpv4-sp-d16"]
        code = ["-nostartfiles", "-O1", "-w", "-fwrapv", "-fno-strict-aliasing", "-fno-builtin-malloc"]
        return [self.COMPILER, *core, *code, f"-I{HERE / 'guarded'}"]

    @property
    def parts(self) -> tuple[Path, ...]:
        return (*super().parts, HERE / "guarded/guarded.c")

    @property
    def command(self) -> list[str]:
        return [self.EMULATOR, "-cpu", "cortex-a15", *super().command]
