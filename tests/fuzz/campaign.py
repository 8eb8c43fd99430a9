"""Many mutants, one after another in processes of their own; what they gave is counted and kept in a file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from tests.fuzz import documents, mutants, onnx_mutants
from tests.fuzz.child import limit_memory
from tests.fuzz.mutants import Mutant
from tests.fuzz.trial import Outcome, Verdict, attempt

BATCH = 200
"""Mutants that one process tries."""
KEPT = 10
"""Mutants that are remembered of a finding."""
FORK = get_context("fork")
MAKERS: dict[str, Callable[[int, int], Mutant]] = {"tflite": mutants.mutant, "onnx": onnx_mutants.mutant}
"""What makes the mutants of each format of models, from a seed and a number."""
DOCUMENTS = "documents"
"""The mutants of everything else that Mote reads."""
FORMATS = (*MAKERS, DOCUMENTS)


def trial(format: str, seed: int, number: int) -> tuple[Mutant | documents.DocumentMutant, Callable[[], Outcome]]:
    """The mutant of a number, and what tries it."""
    if format == DOCUMENTS:
        document = documents.mutant(seed, number)
        return document, lambda: documents.attempt(document)
    model = MAKERS[format](seed, number)
    return model, lambda: attempt(model)


@dataclass
class Campaign:
    """How far it has come: mutants below `next` were tried."""

    seed: int
    next: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    findings: dict[str, list[int]] = field(default_factory=dict)
    """The first mutants of each finding."""
    format: str = "tflite"

    def round(self, jobs: int = 1, batch: int = BATCH) -> None:
        """A batch of mutants for each job."""
        starts = range(self.next, self.next + jobs * batch, batch)
        tries = [_Batch(self.format, self.seed, list(range(start, start + batch))) for start in starts]
        for number, outcome in (found for each in tries for found in each.outcomes()):
            self.counts[outcome.verdict] += 1
            if outcome.verdict is Verdict.FINDING:
                self.counts[outcome.detail] += 1
                self.findings.setdefault(outcome.detail, [])
                self.findings[outcome.detail] = [*self.findings[outcome.detail], number][:KEPT]
        self.next += jobs * batch

    def summary(self) -> str:
        """The mutants that were tried, and each finding with the mutants that it was found by."""
        parts = ", ".join(f"{self.counts[v]:,} {v}" for v in Verdict if v is not Verdict.FINDING)
        lines = [f"{self.next:,} {self.format} mutants of seed {self.seed}: {parts}; {len(self.findings)} findings"]
        for found, numbers in sorted(self.findings.items(), key=lambda item: -self.counts[item[0]]):
            lines.append(f"  {self.counts[found]:,} times {found}: mutants {', '.join(map(str, numbers))}")
        return "\n".join(lines)

    def save(self, path: Path) -> None:
        told = {"seed": self.seed, "next": self.next, "counts": self.counts, "findings": self.findings}
        told["format"] = self.format
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Campaign:
        told = json.loads(path.read_text(encoding="utf-8"))
        return cls(told["seed"], told["next"], Counter(told["counts"]), told["findings"], told["format"])


class _Batch:
    """Mutants that are tried in another process, from now on."""

    def __init__(self, format: str, seed: int, numbers: list[int]) -> None:
        self.format, self.seed, self.numbers = format, seed, numbers
        self.receiver, sender = FORK.Pipe(duplex=False)
        self.process = FORK.Process(target=_try, args=(format, seed, numbers, sender))
        self.process.start()
        sender.close()

    def outcomes(self) -> Iterator[tuple[int, Outcome]]:
        """Each mutant with its outcome; one that ends the process is a finding, and the others are tried in another."""
        done = 0
        try:
            while done < len(self.numbers):
                yield self.numbers[done], self.receiver.recv()
                done += 1
        except EOFError:
            self.process.join()
            yield self.numbers[done], Outcome(Verdict.FINDING, f"the compiler ended with {self.process.exitcode}")
            yield from _Batch(self.format, self.seed, self.numbers[done + 1 :]).outcomes()
        self.process.join()


def _try(format: str, seed: int, numbers: Iterable[int], sender: Connection) -> None:
    limit_memory()
    for number in numbers:
        sender.send(trial(format, seed, number)[1]())
