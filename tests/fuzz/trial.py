"""What becomes of a mutant. Each is compiled, or refused with a reason; of those that compile some are computed in
NumPy and compared with the runtime of the model's format, and some built with sanitizers, run, and compared."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import mote
from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.bench.execute import reference
from mote.bench.execute.format_references import runtime
from mote.bench.execute.stimuli import stimuli
from mote.bench.measure.runner import bench
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from mote.frontends import Format
from mote.hardware.toolchain import Mode
from mote.ir.graph import Graph
from mote.ir.graph.tolerance import compare
from mote.ir.ops.control.control_flow import EndlessError
from tests.fuzz.child import DiedError, TooSlowError, apart, within
from tests.fuzz.mutants import Mutant

MOTE = Path(mote.__file__).parent
SECONDS = 30
"""Of CPU that a compilation may take."""
INPUTS = 2
EVERY_COMPUTED, EVERY_RUN = 10, 100
"""One mutant of so many is computed, and one of so many run, if it compiles."""
RUN_SECONDS = 120


class Verdict(StrEnum):
    REFUSED = "refused"
    READ = "read"
    COMPILED = "compiled"
    COMPUTED = "computed in NumPy as the runtime does"
    RUN = "built with sanitizers, run, as the runtime"
    RUN_ALONE = "built with sanitizers, run, refused by the runtime"
    FINDING = "finding"


@dataclass(frozen=True)
class Outcome:
    verdict: Verdict
    detail: str = ""
    """What a finding is, without what differs from mutant to mutant; why a model is refused."""


def attempt(m: Mutant) -> Outcome:
    """Try one mutant, as far as its number says."""
    try:
        with within(SECONDS):
            compiled = compile(m.data, **m.options)
    except MoteError as error:
        if isinstance(error.__cause__, MemoryError):
            return Outcome(Verdict.FINDING, f"memory: {place(error.__cause__)}")
        return Outcome(Verdict.REFUSED, str(error))
    except TooSlowError as error:
        return Outcome(Verdict.FINDING, f"slow: {place(error)}")
    except Exception as error:
        return Outcome(Verdict.FINDING, f"bug: {place(error.__cause__ or error)}")
    if m.number % EVERY_COMPUTED == 0 and not _ends(compiled.source):
        return Outcome(Verdict.COMPILED)
    if m.number % EVERY_RUN == 0:
        return _run(compiled)
    return _computed(compiled) if m.number % EVERY_COMPUTED == 0 else Outcome(Verdict.COMPILED)


def _ends(graph: Graph) -> bool:
    """Whether all loops end: LiteRT and the C would go on forever."""
    try:
        for case in stimuli(graph, INPUTS):
            graph.evaluate(case)
    except EndlessError:
        return False
    return True


def place(error: BaseException) -> str:
    """The kind of an error and where in Mote it comes from."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(MOTE)]
    at = f"{Path(frames[-1].filename).name} {frames[-1].name}" if frames else "?"
    return f"{type(error).__name__} in {at}"


def _judge(compiled: Compiled) -> reference.Reference:
    """The runtime of the model's format."""
    if compiled.model.format is Format.TFLITE:
        return reference.litert(compiled.data)
    found = runtime(compiled.model, compiled.source)
    assert found is not None
    return found[0]


def _is_judged(compiled: Compiled) -> bool:
    """Whether the format's runtime can run the model, and computes it rightly: it may crash on what Mote knows
    better."""
    if any(op.misjudged(compiled.source) for op in compiled.source.ops):
        return False
    try:
        apart(lambda: _judge(compiled)(stimuli(compiled.source, 1)[0]) is None, RUN_SECONDS)
    except (DiedError, MoteError):
        return False
    return True


def _computed(compiled: Compiled) -> Outcome:
    """The NumPy reference of every operator against the format's runtime."""
    if not _is_judged(compiled):
        return Outcome(Verdict.COMPILED)
    try:
        found = apart(lambda: _miscomputed(compiled), RUN_SECONDS)
    except (DiedError, MoteError):
        return Outcome(Verdict.COMPILED)
    return Outcome(Verdict.FINDING, f"NumPy: {found} differs") if found else Outcome(Verdict.COMPUTED)


def _miscomputed(compiled: Compiled) -> str:
    """The operator whose result differs first."""
    graph = compiled.source
    oracle = reference.meaningful(_judge(compiled), graph)
    own, magnitudes = reference.numpy(graph), reference.magnitudes(graph)
    for case in stimuli(graph, INPUTS):
        want, got, sizes = oracle(case), own(case), magnitudes(case)
        assert want is not None and got is not None
        for op in graph.ops:
            for t in (t for t in op.outputs if not graph.tensors[t].inner):
                if graph.tensors[t].source not in want:
                    assert op.bodies or compiled.model.format is not Format.TFLITE
                    continue
                values = graph.tensors[t].part(want[graph.tensors[t].source]).reshape(got[t].shape)
                if compare(got[t], values, sizes.get(t, 0.0))[1]:
                    return op.kind
    return ""


def _run(compiled: Compiled) -> Outcome:
    """The generated C under sanitizers, against the format's runtime where that takes the model, else
    against NumPy."""
    known = _is_judged(compiled)
    try:
        found = apart(lambda: _mismatches(compiled) if known else _alone(compiled), RUN_SECONDS)
    except MoteError as error:
        return Outcome(Verdict.FINDING, f"C: {re.sub('/[^ ]*/', '', str(error))[:200]}")
    except DiedError as error:
        return Outcome(Verdict.FINDING, f"C: {error}")
    if found:
        return Outcome(Verdict.FINDING, f"C: {found} differs")
    return Outcome(Verdict.RUN if known else Verdict.RUN_ALONE)


def _mismatches(compiled: Compiled) -> str:
    return ", ".join(sorted({m.op for m in verify(compiled, INPUTS, sanitize=True).mismatches}))


def _alone(compiled: Compiled) -> str:
    """The outputs that differ from NumPy's."""
    graph = compiled.plan.graph
    oracle, magnitudes = reference.numpy(graph), reference.magnitudes(graph)
    cases = stimuli(graph, INPUTS)
    with TemporaryDirectory(prefix="mote-") as folder:
        on = bench(compiled, Path(folder), sanitize=True)
        run = on.execute(Mode.DUMP, [[case[t].tobytes() for t in graph.inputs] for case in cases])
    found = set()
    for case, outputs in zip(cases, run.outputs, strict=True):
        want, sizes = oracle(case), magnitudes(case)
        assert want is not None
        for t, raw in zip(graph.outputs, outputs, strict=True):
            got = np.frombuffer(raw, graph.tensors[t].dtype.numpy)
            if compare(got, want[t].reshape(-1), sizes.get(t, 0.0))[1]:
                found.add(graph.producers[t].kind if t in graph.producers else "input")
    return ", ".join(sorted(found))
