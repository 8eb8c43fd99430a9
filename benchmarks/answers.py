"""How many inputs a second each way of asking a model answers, on one core of this computer.

    PYTHONPATH=models python benchmarks/answers.py [MODEL ...] [--seconds 2]

The compiled C is what `mote evaluate` asks for the vectors of this computer, and portable C for the host and as it is
planned for a Cortex-M4. Runtime and NumPy are what `mote.score` chooses from, without compiling anything; the runtime
plans the model anew for every 256 inputs. The reference is LiteRT's. Processor time is counted, so that other work on
the computer changes little.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time

import numpy as np

from mote.bench.evaluation import score
from mote.bench.execute import batch, host_library
from mote.bench.execute.host_library import HostModel, on_vectors
from mote.bench.execute.reference import litert
from mote.bench.execute.stimuli import stimuli
from mote.compiler.line import compile
from mote.ir.graph.tensor import Array

BUNDLED = ("models/digits.tflite", "models/keywords.tflite")
Case = dict[int, Array]


def rate(ask: Callable[[Sequence[Case]], object], cases: Sequence[Case], seconds: float) -> float:
    """Inputs a second, of as many as it takes; the first one is not counted."""
    ask(cases[:2])
    done, began = 0, process_time()
    while (taken := process_time() - began) < seconds:
        ask(cases)
        done += len(cases)
    return done / taken


def rates(path: str, seconds: float) -> dict[str, float]:
    """Of a model, by the way of asking."""
    here, core = compile(path), compile(path, target="cortex-m4")
    graph = here.source
    cases = [case for case in stimuli(graph, 256) if all(np.isfinite(x).all() for x in case.values())]
    found = {
        "C, vectors": rate(HostModel(on_vectors(here)).run, cases, seconds),
        "C, host": rate(HostModel(here).run, cases, seconds),
        "C, cortex-m4": rate(HostModel(core).run, cases, seconds),
        "runtime": rate(lambda some: score.interpreted(graph, some), cases, seconds),
        "NumPy": rate(lambda some: list(batch.evaluate(graph, some, graph.outputs)), cases, seconds),
    }
    if path.endswith(".tflite"):
        oracle = litert(Path(path).read_bytes())
        found["LiteRT reference"] = rate(lambda some: [oracle(case) for case in some], cases, seconds)
    return found


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("models", nargs="*", default=BUNDLED)
    p.add_argument("--seconds", type=float, default=2.0, help="of processor time for each (default: 2)")
    options = p.parse_args()
    host_library.cores = score.cores = lambda: 1
    for path in options.models:
        told = ", ".join(f"{way} {value:,.0f}" for way, value in rates(path, options.seconds).items())
        print(f"{Path(path).name}: {told}", flush=True)


if __name__ == "__main__":
    main()
