"""How far Mote passes the tests that come with ONNX: docs/models/onnx-conformance.md.

    PYTHONPATH=src:benchmarks python benchmarks/onnx_conformance.py              # run all, print the page
    PYTHONPATH=src:benchmarks python benchmarks/onnx_conformance.py --write      # and write it, and the record
    PYTHONPATH=src:benchmarks python benchmarks/onnx_conformance.py --only Conv  # tests whose names or operators match

Every model is read by the ONNX front end, run by the NumPy reference, compiled to C and run on this computer; both
results are held against the expected ones, with the tolerances of the tests. Code that was compiled before is taken
from build/onnx-conformance, so that a second run takes half as long.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import re
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import onnx
import onnxruntime

from mote.base.errors import MoteError, UnsupportedError
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from mote.frontends.source import Format, Source
from mote.ir.graph import Graph, Tensor
from onnx_cases import Array, Case, cases

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_suffix(".json")
COMMAND = "python benchmarks/onnx_conformance.py --write"
PAGE = ROOT / "docs" / "models" / "onnx-conformance.md"
BUILD = ROOT / "build" / "onnx-conformance"
FLAGS = ("-std=c99", "-O0", "-fPIC", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
AT_ONCE = 100
"""Models in one library."""
STEPS = {"float16": 2.0**-9, "bfloat16": 2.0**-6}
"""Where a test computes with fewer bits than Mote, which has float32 for them, results may be two steps of the largest
one apart: how large these are."""
SINGLE = 2.0**-22
"""The same for all others: sums in float32 that nearly cancel out."""
PASSED, REFUSED, RUNTIME, FAILED = RESULTS = ("passed", "refused", "as ONNX Runtime", "failed")
SEVERAL = "several"
"""What models of several operators are tests of."""
MANUAL = ROOT / "docs" / "models" / "onnx.md"
BEGIN, END = "<!-- the record: benchmarks/onnx_conformance.py -->\n", "<!-- end of the record -->\n"
Record = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What became of a test, and why it did not pass."""

    case: str
    operator: str
    opset: int
    result: str
    reason: str = ""
    types: tuple[str, ...] = ()
    """The types of what is computed."""


@dataclass(frozen=True)
class Ready:
    """A test whose model was compiled."""

    case: Case
    compiled: Compiled


def run(those: Sequence[Case]) -> list[Outcome]:
    """All of them, with as few libraries as possible."""
    found: dict[str, Outcome] = {}
    ready = []
    for number, case in enumerate(those):
        _progress(f"reading and compiling {number + 1} of {len(those)}")
        made = prepared(case)
        if isinstance(made, Ready):
            ready.append(made)
        else:
            found[case.name] = made
    for first in range(0, len(ready), AT_ONCE):
        _progress(f"building and running {first + AT_ONCE} of {len(ready)}")
        part = ready[first : first + AT_ONCE]
        objects = {it.case.name: _object(it.compiled) for it in part}
        library = _library([path for path in objects.values() if isinstance(path, Path)], first)
        for it in part:
            made = objects[it.case.name]
            found[it.case.name] = judged(it, library) if isinstance(made, Path) else _outcome(it.case, FAILED, made)
    return [found[case.name] for case in those]


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:60}", end="", file=sys.stderr)


def _outcome(case: Case, result: str, reason: str = "", types: Iterable[str] = ()) -> Outcome:
    return Outcome(case.name, case.operator, case.opset, result, reason, tuple(sorted(types)))


def prepared(case: Case) -> Ready | Outcome:
    """The compiled model, or that it is refused."""
    try:
        source = Source(f"{case.name.split(',')[0]}.onnx", Format.ONNX, case.data(), case.shapes())
        compiled = compile(source, name=f"t{crc32(case.name.encode()):08x}", edges="model")
    except UnsupportedError as error:
        return _outcome(case, REFUSED, "; ".join(dict.fromkeys(layer.reason for layer in error.layers)))
    except MoteError as error:
        return _outcome(case, REFUSED, error.reason)
    except Exception as error:  # what is wrong inside of Mote is a failed test, and no end
        return _outcome(case, FAILED, f"{type(error).__name__}: {error}")
    return Ready(case, compiled)


def _library(objects: Sequence[Path], number: int) -> ctypes.CDLL:
    """A library of models."""
    library = BUILD / f"models-{number}-{sha256(''.join(map(str, objects)).encode()).hexdigest()[:16]}.so"
    if not library.exists():
        subprocess.run(["gcc", "-shared", "-o", library, *objects], check=True)
    return ctypes.CDLL(str(library))


def _object(compiled: Compiled) -> Path | str:
    """The compiled C of a model, which is kept; what is wrong with it, if something is."""
    files = compiled.project.files
    digest = sha256(repr(sorted(files.items())).encode()).hexdigest()[:24]
    found = BUILD / f"{compiled.name}-{digest}.o"
    if not found.exists():
        folder = BUILD / "sources"
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            if Path(name).suffix in (".c", ".h") and "/" not in name:
                (folder / name).write_text(text)
        source = folder / f"{compiled.name}.c"
        done = subprocess.run(["gcc", *FLAGS, "-c", source, "-o", found], capture_output=True, text=True, check=False)
        if done.returncode:
            return next((line for line in done.stderr.splitlines() if "error" in line), "the C compiler fails")
    return found


def judged(it: Ready, library: ctypes.CDLL) -> Outcome:
    """Both results against what is expected."""
    case, graph = it.case, it.compiled.source
    for inputs, outputs in case.sets:
        given = [stored(graph.tensors[t], x) for t, x in zip(graph.inputs, case.computed(inputs), strict=True)]
        numpy = graph.evaluate(dict(zip(graph.inputs, given, strict=True)))
        c = called(library, it.compiled, given)
        for number, (tensor, want) in enumerate(zip(graph.outputs, outputs, strict=True)):
            t = graph.tensors[tensor]
            for who, got in (("NumPy", numpy[tensor]), ("C", c[number])):
                if problem := difference(logical(t, got), want, case):
                    found = [logical(graph.tensors[o], x) for o, x in zip(graph.outputs, c, strict=True)]
                    result = RUNTIME if as_runtime(case, inputs, found) else FAILED
                    return _outcome(case, result, f"{who}: output {number} {problem}", types_of(graph))
    return _outcome(case, PASSED, types=types_of(graph))


def as_runtime(case: Case, inputs: Sequence[Array | None], ours: Sequence[Array]) -> bool:
    """Whether ONNX Runtime, too, gives something else than a test wants, and Mote gives that."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(case.model.SerializeToString(), options)
        known = {it.name for it in session.get_inputs()}
        theirs = session.run(None, {n: x for n, x in zip(case.names, inputs, strict=False) if n in known})
    except Exception:  # it has errors of its own for each kind of trouble
        return False
    return all(not difference(a, b, case) for a, b in zip(ours, theirs, strict=True))


def types_of(graph: Graph) -> set[str]:
    """The types of inputs and outputs."""
    return {str(graph.tensors[t].dtype) for t in (*graph.inputs, *graph.outputs)}


def stored(t: Tensor, value: Array | None) -> Array:
    """An input as the tensor holds it."""
    assert value is not None
    with np.errstate(all="ignore"):
        found = np.asarray(value).astype(t.dtype.numpy)
    return found.reshape(t.shape) if t.arrangement is None else t.arrangement.stored(found, t.shape)


def logical(t: Tensor, value: Array) -> Array:
    """A tensor's value as the model has it."""
    return value if t.arrangement is None else t.arrangement.logical(value)


def called(library: ctypes.CDLL, compiled: Compiled, given: Sequence[Array]) -> list[Array]:
    """What the generated C computes."""
    graph, name = compiled.plan.graph, compiled.name
    assert getattr(library, f"{name}_init")() == 0
    for t, x in zip(_ports(library, name, "input", len(graph.inputs)), given, strict=True):
        ctypes.memmove(t, np.ascontiguousarray(x).ctypes.data, x.nbytes)
    assert getattr(library, f"{name}_run")() == 0
    tensors = [graph.tensors[t] for t in graph.outputs]
    places = _ports(library, name, "output", len(tensors))
    return [
        np.frombuffer(ctypes.string_at(p, t.nbytes), t.dtype.numpy).reshape(t.shape)
        for p, t in zip(places, tensors, strict=True)
    ]


def _ports(library: ctypes.CDLL, name: str, what: str, count: int) -> list[int]:
    """The addresses of inputs or outputs."""
    found = []
    for i in range(count):
        function = getattr(library, f"{name}_{what}{f'_{i}' if count > 1 else ''}")
        function.restype = ctypes.c_void_p
        found.append(function())
    return found


def difference(got: Array, want: Array | None, case: Case) -> str:
    """How a result is not what is expected; nothing where it is."""
    assert want is not None
    if case.operator == "NonMaxSuppression" and len(want) < len(got):
        want = np.concatenate([want, np.full((len(got) - len(want), 3), -1, want.dtype)])
    if got.shape != want.shape:
        return f"has the shape {got.shape} instead of {want.shape}"
    if want.dtype.kind in "biu" and want.dtype.itemsize:
        bad = np.count_nonzero(got.astype(want.dtype) != want)
        return f"has {bad} of {want.size} elements wrong" if bad else ""
    with np.errstate(all="ignore"):
        ours, theirs = got.astype(np.float64), want.astype(np.float32).astype(np.float64)
        largest = float(np.max(np.abs(theirs), initial=0, where=np.isfinite(theirs)))
        absolute = max(case.absolute, largest * STEPS.get(want.dtype.name, SINGLE))
        close = np.isclose(ours, theirs, case.relative, absolute, equal_nan=True)
        apart = np.abs(ours - theirs)[~close]
    return f"has {apart.size} of {want.size} elements wrong, by up to {np.max(apart):.3g}" if apart.size else ""


# The record and the pages

KINDS = {
    "strings": ("string",),
    "sequences of tensors": ("sequence",),
    "values that may be missing": ("optional", "may be missing"),
    "training": ("training",),
    "random numbers": ("random",),
    "files with images": ("files with images",),
    "results whose size depends on values": ("only known at run time", "how many elements"),
    "values without elements": ("no elements", "0 elements"),
    "sets of operators before version 9 that ONNX does not convert": ("Mote reads them from",),
}
"""What refused tests need, and words that their reasons have then; everything else is told as it is."""


WIDTH = 120
ABOUT = """Each is a model, mostly of one operator, with inputs and the outputs that it must have. Mote reads it,
computes it with its NumPy reference, compiles it to C and runs that; both results must be within the test's own
tolerances. Inputs that say what an operator does (axes, shapes, weights of layers) are made constants first, as they
are in real models; models older than version 9 are converted by the package onnx. Results of float16 and bfloat16
tests, which Mote computes in float32, may be two steps of the largest element apart, and float32 ones 2^-22 of it.
This page is written by `benchmarks/onnx_conformance.py --write`."""


def kind_of(reason: str) -> str:
    return next((kind for kind, words in KINDS.items() if any(word in reason for word in words)), reason)


def recorded(outcomes: Sequence[Outcome], before: Record | None = None) -> Record:
    """What is kept of a run: for each operator its versions, types and tests. A run of some goes into the record of the
    others."""
    operators: dict[str, Any] = {} if before is None else before["operators"]
    new = {it.case for it in outcomes}
    for entry in operators.values():
        entry[PASSED] = [case for case in entry[PASSED] if case not in new]
        for result in (REFUSED, RUNTIME, FAILED):
            entry[result] = {case: why for case, why in entry[result].items() if case not in new}
    for it in outcomes:
        entry = operators.setdefault(it.operator, _no_tests())
        if it.result == PASSED:
            entry[PASSED] = sorted([*entry[PASSED], it.case])
            entry["opsets"] = sorted({*entry["opsets"], it.opset})
            entry["types"] = sorted({*entry["types"], *it.types})
        else:
            entry[it.result][it.case] = it.reason.splitlines()[0]
    return {"onnx": onnx.__version__, "operators": dict(sorted(operators.items()))}


def _no_tests() -> dict[str, Any]:
    return {"opsets": [], "types": [], PASSED: [], REFUSED: {}, RUNTIME: {}, FAILED: {}}


def load() -> Record:
    found: Record = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def text(record: Record) -> str:
    return json.dumps(record, indent=1, sort_keys=True) + "\n"


def page(record: Record) -> str:
    """docs/models/onnx-conformance.md."""
    operators = record["operators"]
    counts = {result: sum(len(entry[result]) for entry in operators.values()) for result in RESULTS}
    lines = [
        "# The tests that come with ONNX",
        "",
        *_told(sum(counts.values()), record["onnx"]),
        "",
        f"| {' | '.join(RESULTS)} |",
        "|--:|--:|--:|--:|",
        f"| {' | '.join(f'{counts[result]:,}' for result in RESULTS)} |",
        "",
        "## Refused",
        "",
        "| why | tests | operators |",
        "|---|--:|---|",
        *_reasons(operators),
        "",
    ]
    if counts[RUNTIME]:
        told = "ONNX Runtime gives something else than these tests want, and Mote gives what ONNX Runtime does:"
        lines += [f"## {RUNTIME[0].upper()}{RUNTIME[1:]}", "", told, "", *_named(operators, RUNTIME), ""]
    if counts[FAILED]:
        lines += ["## Failed", "", *_named(operators, FAILED), ""]
    lines += [
        "## Operators",
        "",
        f"| operator | {' | '.join(RESULTS)} |",
        "|---|--:|--:|--:|--:|",
        *(f"| {name} | {' | '.join(str(len(entry[r]) or '') for r in RESULTS)} |" for name, entry in operators.items()),
        "",
    ]
    return "\n".join(lines)


def _told(count: int, version: str) -> list[str]:
    """What the page is about, in lines of its length."""
    words = (
        f"{count:,} tests, those of Debian's package libonnx-testdata and those of the package onnx {version}. {ABOUT}"
    )
    return textwrap.wrap(words, WIDTH)


def _reasons(operators: Mapping[str, Any]) -> list[str]:
    """Rows: what refused tests need, the most frequent first."""
    found: dict[str, Counter[str]] = {}
    for name, entry in operators.items():
        for reason in entry[REFUSED].values():
            found.setdefault(kind_of(reason), Counter())[name] += 1
    rows = sorted(found.items(), key=lambda item: (-item[1].total(), item[0]))
    return [f"| {_cell(kind)} | {counts.total()} | {', '.join(sorted(counts))} |" for kind, counts in rows]


def _named(operators: Mapping[str, Any], result: str) -> list[str]:
    return [f"- `{case}`: {_cell(why)}" for entry in operators.values() for case, why in entry[result].items()]


def _cell(words: str) -> str:
    return words.replace("|", "/")


def manual(record: Record) -> str:
    """docs/models/onnx.md with the table that follows from the record."""
    before, rest = MANUAL.read_text(encoding="utf-8").split(BEGIN)
    return f"{before}{BEGIN}{_table(record)}{END}{rest.split(END)[1]}"


def _table(record: Record) -> str:
    """The operators that pass tests: in which versions, between which types."""
    rows = ["| operator | sets of operators tested | types at the edges | tests passed |", "|---|---|---|--:|"]
    for name, entry in record["operators"].items():
        if entry[PASSED] and name != SEVERAL:
            opsets = ", ".join(map(str, entry["opsets"]))
            rows.append(f"| {name} | {opsets} | {', '.join(entry['types'])} | {len(entry[PASSED])} |")
    return "\n".join([*rows, ""])


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--write", action="store_true", help="write the record and the pages")
    p.add_argument("--only", default="", metavar="PATTERN", help="a regular expression that names or operators match")
    given = p.parse_args()
    chosen = [case for case in cases() if re.search(given.only, f"{case.name} {case.operator}")]
    outcomes = run(chosen)
    if given.only:
        for it in outcomes:
            print(it.result, it.case, it.operator, it.reason, sep="\t")
    record = recorded(outcomes, load() if given.only else None)
    if given.write:
        RECORD.write_text(text(record), encoding="utf-8")
        PAGE.write_text(page(record), encoding="utf-8")
        MANUAL.write_text(manual(record), encoding="utf-8")
    if not given.only:
        print(page(record))


if __name__ == "__main__":
    main()
