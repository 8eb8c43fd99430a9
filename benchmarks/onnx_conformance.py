"""How far Mote passes the tests that come with ONNX: docs/onnx-conformance.md.

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
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from mote.api.compiler import Compiled, compile
from mote.errors import MoteError, UnsupportedError
from mote.frontends.source import Format, Source
from mote.graph import Graph, Tensor
from onnx_cases import Array, Case, cases

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_suffix(".json")
PAGE = ROOT / "docs" / "onnx-conformance.md"
BUILD = ROOT / "build" / "onnx-conformance"
FLAGS = ("-std=c99", "-O0", "-fPIC", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
AT_ONCE = 100
"""Models in one library."""
STEPS = {"float16": 2.0**-9, "bfloat16": 2.0**-6}
"""Where a test computes with fewer bits than Mote, which has float32 for them, results may be two steps of the largest
one apart: how large these are."""
SINGLE = 2.0**-22
"""The same for all others: sums in float32 that nearly cancel out."""
PASSED, REFUSED, FAILED = "passed", "refused", "failed"


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
        made = prepared(case, number)
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


def prepared(case: Case, number: int) -> Ready | Outcome:
    """The compiled model, or that it is refused."""
    try:
        source = Source(f"{case.name.split(',')[0]}.onnx", Format.ONNX, case.data(), case.shapes())
        compiled = compile(source, name=f"t{number}", edges="model")
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
                    return _outcome(case, FAILED, f"{who}: output {number} {problem}", types_of(graph))
    return _outcome(case, PASSED, types=types_of(graph))


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


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--write", action="store_true", help="write the record and the page")
    p.add_argument("--only", default="", metavar="PATTERN", help="a regular expression that names or operators match")
    given = p.parse_args()
    chosen = [case for case in cases() if re.search(given.only, f"{case.name} {case.operator}")]
    for outcome in run(chosen):
        if outcome.result != PASSED or given.only:
            print(outcome.result, outcome.case, outcome.operator, outcome.reason, sep="\t")


if __name__ == "__main__":
    main()
