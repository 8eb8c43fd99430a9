"""What filters cost on an emulated core: the table of docs/improve/features.md.

PYTHONPATH=src python benchmarks/filters.py [--target CORE]
"""

from __future__ import annotations

import argparse

import numpy as np

from mote.base.files import temporary_folder
from mote.bench.measure.runner import bench
from mote.compiler.line import compile_graph
from mote.compiler.settings import Settings
from mote.frontends.features.building import built
from mote.frontends.features.pipeline import preprocessing
from mote.frontends.features.sensor import Sensor
from mote.hardware import targets
from mote.hardware.toolchain import Mode
from mote.ir.graph import Graph

SAMPLES, UNIT = 3200, 320
STEPS = (
    "pre-emphasis=31/32",
    "remove-dc",
    "fir(0.25,0.5,0.25)",
    "low-pass(1000,taps=31)",
    "low-pass(1000,taps=63)",
    "decimate=2",
    "decimate=4",
    "low-pass=1000",
    "low-pass(1000,order=4)",
    "band-pass(300,3000)",
    "notch=50",
    "running-normalize",
    "normalize",
)


def filtered(text: str) -> Graph:
    """The operators of a step on 16 kHz sound in rows of 20 ms."""

    def in_rows(signal):  # type: ignore[no-untyped-def]
        signal.builder.unit = UNIT
        return signal

    graph = built([in_rows, *preprocessing(text).operators], Sensor(rate=16000), SAMPLES)[1]
    assert graph is not None
    return graph


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="cortex-m4")
    target = targets.load(parser.parse_args().target)
    sound = np.random.default_rng(0).integers(-20000, 20000, SAMPLES).astype(np.int16)
    print("| step | instructions a sample | state, bytes |\n| --- | --- | --- |")
    for text in STEPS:
        made = compile_graph(filtered(text), Settings(target, name="filtered"))
        with temporary_folder() as folder:
            (count, *_) = bench(made, folder).execute(Mode.MEASURE, [[sound.tobytes()]] * 2).instructions
        print(f"| `{text}` | {count / SAMPLES:.1f} | {sum(s.initial.nbytes for s in made.plan.graph.states)} |")


if __name__ == "__main__":
    main()
