"""What becomes of every `.tflite` file in a folder: `python benchmarks/files.py FOLDER` reads each, compares it with
LiteRT in NumPy, compiles it for the host and compares the C, and counts what it is that Mote refuses.

Each file has a process and a time of its own: neither a file that takes long nor one on which LiteRT crashes ends it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from mote.base.errors import MoteError, UnsupportedError
from mote.bench.evaluation.verify import verify
from mote.bench.execute import reference
from mote.bench.execute.stimuli import stimuli
from mote.compiler.line import compile
from mote.frontends import load
from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import compare

SECONDS = 60
"""For each step of a file."""
INPUTS = 2
NUMPY_MACS, C_MACS = 300_000_000, 60_000_000
"""Multiplications of what is compared in NumPy, and of what is compiled as well."""
STAGES = ("read", "NumPy equal", "LiteRT is no judge", "compiled", "C equal")


@dataclass
class Outcome:
    """How far a file came, and why no further."""

    file: Path
    passed: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    ended: str = ""
    """`refused`, `wrong`, `bug`, `no reference`, `large`, `slow`, `crashed`, or nothing where all was tried."""


class NoJudgeError(Exception):
    """LiteRT computes something else on purpose or by mistake: only C is compared, with Mote's own reference."""

    def __init__(self, *reasons: str) -> None:
        self.reasons = reasons
        super().__init__(*reasons)


class EndError(Exception):
    """Nothing more is tried with this file."""

    def __init__(self, how: str, *reasons: str) -> None:
        self.how, self.reasons = how, reasons
        super().__init__(how)


def numpy_equal(graph: Graph, model: bytes) -> None:
    """Every tensor in NumPy against LiteRT, or against TFLite Micro where it alone knows an operator."""
    if reasons := {reason for op in graph.ops if (reason := op.misjudged(graph))}:
        raise NoJudgeError(*sorted(reasons))
    micro = reference.micro_only(graph)
    oracle = reference.micro(model, graph) if micro else reference.meaningful(reference.litert(model), graph)
    ours, magnitudes = reference.numpy(graph), reference.magnitudes(graph)
    for case in stimuli(graph, INPUTS, 0):
        want, got, sizes = oracle(case), ours(case), magnitudes(case)
        assert want is not None and got is not None
        for op in graph.ops:
            _compare(graph, op, want, got, sizes)


def _compare(
    graph: Graph, op: Op, want: Mapping[int, Array], got: Mapping[int, Array], sizes: Mapping[int, float]
) -> None:
    t = op.output(graph)
    if t.inner or (op.bodies and t.source not in want):
        return
    value = got[t.id]
    difference, bad = compare(value, t.part(want[t.source]).reshape(value.shape), sizes.get(t.id, 0.0))
    if bad:
        raise EndError("wrong", f"{op.kind}: {bad} elements differ in NumPy, by {difference:g} at most, {op.where}")


def _c_equal(file: Path, passed: Callable[[str], None]) -> None:
    compiled = compile(file)
    passed("compiled")
    result = verify(compiled, INPUTS)
    if not result.passed:
        raise EndError("wrong", *(f"{m}"[:300] for m in result.mismatches[:2]))
    passed("C equal")


def _tried(file: Path, most: int, passed: Callable[[str], None]) -> None:
    graph = load(file)
    passed("read")
    macs = sum(op.macs(graph) for op in graph.ops)
    if macs > NUMPY_MACS:
        raise EndError("large", f"more than {NUMPY_MACS / 1e6:.0f} million multiplications")
    try:
        numpy_equal(graph, file.read_bytes())
        passed("NumPy equal")
    except NoJudgeError:
        passed("LiteRT is no judge")
    if macs > most:
        raise EndError("large", f"more than {most / 1e6:.0f} million multiplications")
    _c_equal(file, passed)


def _child(file: Path, most: int, tell: Connection) -> None:
    try:
        _tried(file, most, lambda stage: tell.send(("passed", stage)))
        tell.send(("", ()))
    except EndError as end:
        tell.send((end.how, end.reasons))
    except UnsupportedError as error:
        tell.send(("refused", tuple(sorted({f"{x.op}: {x.reason}" for x in error.layers}))))
    except MoteError as error:
        tell.send(("no reference" if "does not run the model" in error.reason else "refused", (error.reason,)))
    except Exception as error:
        tell.send(("bug", (f"{type(error).__name__}: {error}",)))


def tried(file: Path, seconds: float = SECONDS, most: int = C_MACS) -> Outcome:
    """One file in a process of its own. `most`: multiplications of what is compiled."""
    outcome = Outcome(file)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(file, most, theirs))
    process.start()
    theirs.close()
    outcome.ended = "slow"
    for how, what in _messages(ours, seconds):
        if how == "passed":
            outcome.passed.append(str(what))
        else:
            outcome.ended, outcome.reasons = how, list(what)
    process.kill()
    process.join()
    return outcome


def _messages(pipe: Connection, seconds: float) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What the process says, until it ends or its time is over."""
    while pipe.poll(seconds):
        try:
            how, what = pipe.recv()
        except EOFError:
            yield "crashed", ()
            return
        yield how, what
        if how != "passed":
            return


def counted(outcomes: list[Outcome]) -> list[str]:
    """The lines of the report: how many files came how far, and what ended the others."""
    lines = [f"{len(outcomes)} files"]
    lines += [f"{sum(stage in o.passed for o in outcomes):5} {stage}" for stage in STAGES]
    for how in sorted({o.ended for o in outcomes} - {""}):
        ended = [o for o in outcomes if o.ended == how]
        lines.append(f"{len(ended):5} {how}")
        reasons = Counter(reason for o in ended for reason in {_general(reason) for reason in o.reasons})
        lines += [f"      {count:5} {reason}" for reason, count in reasons.most_common()]
    return lines


def _general(reason: str) -> str:
    """A reason without the names and numbers of one file."""
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'", "'...'", reason.splitlines()[0] if reason else reason))[:160]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each step of a file")
    parser.add_argument("--most", type=int, default=C_MACS, help="multiplications of what is compiled; -1: nothing is")
    arguments = parser.parse_args()
    outcomes = []
    for file in sorted(arguments.folder.rglob("*.tflite"), key=lambda path: path.stat().st_size):
        outcomes.append(tried(file, arguments.seconds, arguments.most))
        last = outcomes[-1]
        print(file.name, last.passed[-1:], last.ended, *last.reasons[:3], sep=" | ", flush=True)
    print("\n".join(counted(outcomes)))
    sys.exit(any(o.ended in ("wrong", "bug") for o in outcomes))


if __name__ == "__main__":
    main()
