"""Inferences on this computer: models compiled for its vectors against LiteRT's default kernels (XNNPACK), one thread.

    PYTHONPATH=src:models python benchmarks/host.py [--models FOLDER] [--only KWS ...]

Portable C, C for the vectors of this computer (`--target native`, what `mote evaluate` runs) and LiteRT take turns in
one process, so that other work on the machine slows all of them alike; of each the shortest turn counts. A turn of
compiled C is one call for a batch of inferences, inputs and outputs copied; one of LiteRT calls `invoke` as often.
"""

from __future__ import annotations

import argparse
import ctypes
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

from anchors import load
from mote import compile
from mote.bench.execute.host_library import HostModel
from mote.bench.execute.stimuli import stimuli
from mote.hardware.targets import NATIVE

TURNS = 30
BATCH = 4
MICRO = 1e6
PORTABLE, LITERT = "host", "LiteRT"


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", type=Path, help="folder with the published models")
    p.add_argument("--only", nargs="+", metavar="MODEL", help="some of the models")
    arguments = p.parse_args()
    print("| model | portable C, µs | vectors, µs | LiteRT, µs | vectors against LiteRT |\n|---|--:|--:|--:|--:|")
    for anchor in load():
        if not arguments.only or anchor.name in arguments.only:
            taken = times(anchor.model(arguments.models))
            shown = " | ".join(f"{taken[name] * MICRO:,.0f}" for name in (PORTABLE, NATIVE, LITERT))
            print(f"| {anchor.name} | {shown} | {taken[NATIVE] / taken[LITERT]:.2f} |", flush=True)


def times(model: Path | bytes) -> dict[str, float]:
    """Seconds of an inference, by who computes it."""
    turns = {target: _compiled(model, target) for target in (PORTABLE, NATIVE)} | {LITERT: _litert(model)}
    best = dict.fromkeys(turns, float("inf"))
    for _ in range(TURNS):
        for name, turn in turns.items():
            began = perf_counter()
            turn()
            best[name] = min(best[name], (perf_counter() - began) / BATCH)
    return best


def _compiled(model: Path | bytes, target: str) -> Callable[[], object]:
    host = HostModel(compile(model, target=target, optimize="speed"))
    graph, library = host.graph, host.begin()
    (case,) = stimuli(graph, 1)
    inputs = [np.stack([case[t]] * BATCH) for t in graph.inputs]
    outputs = [np.zeros((BATCH, *graph.tensors[t].shape), graph.tensors[t].dtype.numpy) for t in graph.outputs]
    given, made = ((ctypes.c_void_p * len(a))(*(x.ctypes.data for x in a)) for a in (inputs, outputs))
    kept = (inputs, outputs)
    return lambda: library.mote_batch(ctypes.c_size_t(BATCH), 0, given, made) or kept


def _litert(model: Path | bytes) -> Callable[[], object]:
    from ai_edge_litert.interpreter import Interpreter

    given = {"model_content": model} if isinstance(model, bytes) else {"model_path": str(model)}
    interpreter = Interpreter(**given, num_threads=1)
    interpreter.allocate_tensors()
    rng = np.random.default_rng(0)
    for each in interpreter.get_input_details():
        interpreter.set_tensor(each["index"], rng.integers(-128, 128, each["shape"]).astype(each["dtype"]))

    def turn() -> None:
        for _ in range(BATCH):
            interpreter.invoke()

    return turn


if __name__ == "__main__":
    main()
