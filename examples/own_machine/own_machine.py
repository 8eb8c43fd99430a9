"""An anomaly detector on an emulated Cortex-M4 that adapts to its machine, as that is installed and as it wears.

python examples/own_machine/own_machine.py [--costs]

The autoencoder of `examples/vibration` knows how machines of its kind run. This one shakes more than they do, and more
and more as it wears: a threshold from the factory takes that for a fault. The firmware learns the normal range of the
autoencoder's error while the machine is installed, and from every window since that looks normal. What the core prints
is compared, bit for bit, with NumPy's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "vibration"))

import machine
from in_emulator import run_program

import mote
from mote.compiler.line import compile_graph
from mote.compiler.passes.training.labelled import labelled
from mote.compiler.passes.training.spec import parsed
from mote.compiler.passes.training.trained import trained
from mote.compiler.subject import model_steps
from mote.ir.graph import Graph
from mote.ir.graph.types import StateRole
from mote.ir.ops.features.anomaly import AnomalyScore
from mote.ir.ops.learning.one_class import SCORE_FRACTION

MODEL = Path(__file__).parents[1] / "vibration" / "vibration.tflite"
TARGET = "cortex-m4"
LEARNER = "one-class:window=128"
LIMIT = 4 << SCORE_FRACTION
"""Mean absolute deviations above the mean error that are an anomaly, as the learner counts them."""
INSTALLED, WORN, SHOWN = 64, 400, 25
"""Windows while the machine is installed, while it wears, and of each of its conditions before and after that."""
NEW, OLD, NOISE = 1.2, 1.8, 60.0
"""How much more this machine shakes than others of its kind when it is new and when it is old, and its noise."""
CONDITIONS = ("", *machine.FAULTS)
Values = dict[int, NDArray[Any]]


@dataclass(frozen=True)
class Judged:
    """What the learner and others say of each window: its score and how many samples were learned with it, the score by
    what was learned at installation, and the autoencoder's error."""

    scores: NDArray[np.int64]
    learned: NDArray[np.int64]
    at_installation: NDArray[np.int64]
    errors: NDArray[np.float64]


def windows(count: int, seed: int, wear: Any, fault: str = "") -> NDArray[np.int16]:
    """[count, WINDOW] of this machine."""
    rng = np.random.default_rng([seed, len(fault)])
    usual = machine.windows(count, fault, seed)[..., 0]
    own = np.broadcast_to(wear, count)[:, None] * usual + rng.normal(0, NOISE, usual.shape)
    return np.clip(np.rint(own), -32768, 32767).astype(np.int16)


def life() -> NDArray[np.int16]:
    """The machine while it is installed, then in all conditions, while it wears, and in all conditions again."""
    shown = [[windows(SHOWN, seed, wear, fault) for fault in CONDITIONS] for seed, wear in ((21, NEW), (22, OLD))]
    wears = windows(WORN, 23, np.linspace(NEW, OLD, WORN))
    return np.concatenate([windows(INSTALLED, 24, NEW), *shown[0], wears, *shown[1]])


def on_core(compiled: mote.Compiled, given: NDArray[np.int16]) -> NDArray[np.int64]:
    """What the firmware prints of each window: its score, and how many samples were learned with it."""
    rows = ",\n".join("{" + ",".join(map(str, row)) + "}" for row in given.tolist())
    sizes = f"WINDOWS = {len(given)}, WINDOW = {machine.WINDOW}, INSTALLED = {INSTALLED}, LIMIT = {LIMIT}"
    array = f"static const int16_t windows[WINDOWS][WINDOW] = {{\n{rows}}};"
    header = f"#include <stdint.h>\n\nenum {{ {sizes} }};\n\n{array}\n"
    program = {"main.c": Path(__file__).with_name("main.c").read_text(encoding="utf-8"), "windows.h": header}
    lines = run_program(compiled.project, [compiled.plan], compiled.settings, program).lines
    return np.array([line.split() for line in lines], np.int64)


def in_numpy(graph: Graph, given: NDArray[np.int16]) -> Iterator[tuple[int, int, int, float]]:
    """The rows of `Judged`, by the reference."""
    (source,), (score,) = graph.inputs, graph.outputs
    by_role = {s.role: s for s in graph.states}
    label, count = by_role[StateRole.LABEL].before, by_role[StateRole.COUNT].after
    judge, difference = graph.producers[score], next(op for op in graph.ops if isinstance(op, AnomalyScore))
    scale = float(difference.arithmetic(graph).scale)
    states, installed = Values(), Values()
    for number, window in enumerate(given):
        x = window.reshape(graph.tensors[source].shape)
        values = graph.evaluate({**states, source: x, label: np.zeros(1, np.int32)})
        normal = number < INSTALLED or values[score][0] <= LIMIT
        states = graph.carried(values) if normal else states
        installed = states if number < INSTALLED else installed
        before = {**values, **installed}
        (frozen,) = judge.evaluate(graph, [before[i] for i in judge.inputs])
        error = values[difference.outputs[0]][0] * scale
        yield int(values[score][0]), int(values[count][0]) if normal else 0, int(frozen[0]), error


def report(judged: Judged, threshold: float) -> None:
    """False alarms and faults that are found, when the machine is new and when it is old."""
    every = SHOWN * len(CONDITIONS)
    new, worn, old = np.split(np.arange(INSTALLED, len(judged.scores)), [every, every + WORN])
    ways = {
        f"from the factory, {threshold:g}": judged.errors > threshold,
        "learned at installation": judged.at_installation > LIMIT,
        "learned all the time": judged.scores > LIMIT,
    }
    faults = SHOWN * len(machine.FAULTS)
    print(f"{'threshold':28}{'false alarms of ' + str(SHOWN):22}{'of ' + str(WORN):10}faults found of {faults}")
    print(f"{'':28}{'new':6}{'old':16}{'between':10}{'new':6}old")
    for name, alarms in ways.items():
        false = [int(alarms[part][:SHOWN].sum()) for part in (new, old)]
        right = [int(alarms[part][SHOWN:].sum()) for part in (new, old)]
        print(f"{name:28}{false[0]:<6}{false[1]:<16}{int(alarms[worn].sum()):<10}{right[0]:<6}{right[1]}")


def costs(compiled: mote.Compiled, fixed: mote.Compiled) -> str:
    """RAM beside that of a detector with a fixed threshold, and instructions of a window and of learning it."""
    own, other = (mote.run(each, layers=False) for each in (compiled, fixed))
    graph = labelled(trained(compiled.source, parsed(LEARNER)))
    x, label = graph.inputs
    step = compile_graph(graph, replace(compiled.settings, train=None, preprocess=""))
    sample = np.zeros(graph.tensors[x].shape, np.int8)
    runs = mote.run(step, [{x: sample, label: np.array([k], np.int32)} for k in (-1, 0)], layers=False).inferences
    without, learned = (inference.instructions or 0 for inference in runs)
    return (
        f"{own.ram.total:,} bytes of RAM with the stack, {other.ram.total:,} with a fixed threshold\n"
        f"{own.instructions:,} instructions for a window, {learned - without:,} more where it is learned"
    )


def main() -> int:
    """Print how well faults are found; 0 only where the core says what NumPy does, and adapting helps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--costs", action="store_true", help="measure memory and instructions, too")
    counts = parser.parse_args().costs
    fit = mote.fit_threshold(
        MODEL, mote.dataset(machine.windows(200, seed=2), preprocess=model_steps(MODEL)), percentile=99.5, margin=10
    )
    compiled = mote.compile(MODEL, target=TARGET, train=LEARNER, name="guard")
    given = life()
    judged = Judged(*map(np.array, zip(*in_numpy(compiled.plan.graph, given), strict=True)))
    report(judged, fit.threshold)
    if counts:
        print(costs(compiled, mote.compile(MODEL, target=TARGET, postprocess=fit.postprocess)))
    equal = np.array_equal(on_core(compiled, given), np.stack([judged.scores, judged.learned], 1))
    print(f"The core's scores {'equal' if equal else 'differ from'} those of NumPy, and so does what it learned.")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
