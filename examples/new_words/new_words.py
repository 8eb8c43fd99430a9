"""Three words of a user's own on an emulated Cortex-M4: a keyword spotter learns each from five clips.

python examples/new_words/new_words.py [--costs]

The bundled network has never heard these words. The firmware hears clips of them, learns their class means, saves these
to flash, is reset, loads them, and tells other clips of these words apart, and from words that it was not taught. All
scores are compared, bit for bit, with NumPy's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[2] / "models"))

from in_emulator import run_program

import made_up_words
import mote
from mote.compiler.line import compile_graph
from mote.compiler.passes.training.labelled import labelled
from mote.compiler.passes.training.spec import parsed
from mote.compiler.passes.training.trained import trained
from mote.ir.graph import Graph
from mote.ir.ops.elementwise.quantize import quantized
from mote.ir.ops.learning.prototypes import COSINE_FRACTION

MODEL = Path(__file__).parents[2] / "models" / "keywords.tflite"
TARGET = "cortex-m4"
TAUGHT, SHOTS, TRIED, OTHERS = ("wave", "cross", "pair"), 5, 35, 5
"""Words of the user's, and clips of each to learn from and to recognise, and of each other word."""
LEARNER = f"prototype:classes={len(TAUGHT)}"
THRESHOLD = 0.92
"""The least cosine of a clip that is taken for one of the words."""
Codes = NDArray[np.int8]


@dataclass(frozen=True)
class Scene:
    """Clips as the network takes them: those to learn from, words taking turns, then those to recognise, of words by
    number; -1: of words that were not taught."""

    learned: Codes
    tried: Codes
    words: NDArray[np.int64]


def scene(compiled: mote.Compiled) -> Scene:
    rng = np.random.default_rng(7)
    tensor = compiled.source.tensors[compiled.source.inputs[0]]
    every = {**made_up_words.NEW, **made_up_words.WORDS}

    def clips(word: str, count: int) -> Codes:
        made = np.array([made_up_words.word(every[word], rng) for _ in range(count)])
        return quantized(made, tensor).reshape(count, *tensor.shape)

    learned = np.stack([clips(word, SHOTS) for word in TAUGHT], 1).reshape(-1, *tensor.shape)
    others = [word for word in every if word not in TAUGHT]
    tried = [*(clips(word, TRIED) for word in TAUGHT), *(clips(word, OTHERS) for word in others)]
    words = np.repeat([*range(len(TAUGHT)), -1], [*(TRIED for _ in TAUGHT), OTHERS * len(others)])
    return Scene(learned, np.concatenate(tried), words)


def on_core(compiled: mote.Compiled, given: Scene) -> tuple[NDArray[np.int64], list[str]]:
    """The scores that the firmware prints, and what else it says."""
    program = {"main.c": Path(__file__).with_name("main.c").read_text(encoding="utf-8"), "clips.h": clips_header(given)}
    lines = run_program(compiled.project, [compiled.plan], compiled.settings, program).lines
    scores = [line.split()[1:] for line in lines if line.startswith("heard")]
    return np.array(scores, np.int64), [line for line in lines if not line.startswith("heard")]


def clips_header(given: Scene) -> str:
    """The clips as C."""
    rows = np.concatenate([given.learned, given.tried]).reshape(len(given.learned) + len(given.tried), -1)
    text = ",\n".join("{" + ",".join(map(str, row)) + "}" for row in rows.tolist())
    counts = f"enum {{ LEARNED = {len(given.learned)}, CLIPS = {len(rows)} }};"
    return f"#include <stdint.h>\n\n{counts}\n\nstatic const int8_t clips[CLIPS][{rows.shape[1]}] = {{\n{text}}};\n"


def cases(graph: Graph, clips: Codes, labels: Sequence[int]) -> list[dict[int, NDArray[Any]]]:
    """The inputs of a graph in which labels are inputs: -1 where nothing is to be learned."""
    clip, label = graph.inputs
    return [{clip: x, label: np.array([k], np.int32)} for x, k in zip(clips, labels, strict=True)]


def in_numpy(graph: Graph, given: Scene) -> NDArray[np.int64]:
    """The scores of the reference, which learns the same."""
    clips = np.concatenate([given.learned, given.tried])
    labels = [*np.arange(len(given.learned)) % len(TAUGHT), *([-1] * len(given.tried))]
    scores, states = [], dict[int, NDArray[Any]]()
    for case in cases(graph, clips, labels):
        values = graph.evaluate({**states, **case})
        states = graph.carried(values)
        scores.append(values[graph.outputs[0]])
    return np.array(scores[len(given.learned) :], np.int64)


def costs(compiled: mote.Compiled, graph: Graph, given: Scene) -> str:
    """RAM beside that of the model as it was, and instructions of learning a clip."""
    own = mote.run(MODEL, target=TARGET, layers=False)
    same = compile_graph(graph, replace(compiled.settings, train=None))
    result = mote.run(same, cases(graph, given.learned[:2], [-1, 0]), layers=False)
    heard, learned = (inference.instructions or 0 for inference in result.inferences)
    kept = sum(state.initial.nbytes for state in compiled.plan.graph.states)
    return (
        f"RAM with the stack: {result.ram.total:,} bytes, {kept} of them for learning;"
        f" {own.ram.total:,} of the network as it was\n"
        f"learning a clip: {learned:,} instructions, {learned - heard:,} more than to recognise it"
    )


def main() -> int:
    """Print how well new words are recognised; 0 only where scores are the reference's, and 90% of clips are right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--costs", action="store_true", help="measure memory and instructions, too")
    counts = parser.parse_args().costs
    compiled = mote.compile(MODEL, target=TARGET, train=LEARNER, name="words")
    given = scene(compiled)
    scores, said = on_core(compiled, given)
    graph = labelled(trained(compiled.source, parsed(LEARNER)))
    equal = np.array_equal(scores, in_numpy(graph, given))
    answers, cosines = scores.argmax(1), scores.max(1) / (1 << COSINE_FRACTION)
    own = given.words >= 0
    right, sure = (answers == given.words)[own], (cosines >= THRESHOLD)
    print(f"{SHOTS} clips of {len(TAUGHT)} words each learned; {said[-2]}; reset; {said[-1]}")
    for k, word in enumerate(TAUGHT):
        print(f"{word:8}{int(right[given.words[own] == k].sum())} of {TRIED} clips are right")
    print(f"{int(right.sum())} of {own.sum()} clips are right, {100 * right.mean():.1f}%")
    print(
        f"with a cosine of {THRESHOLD} at least: {int((right & sure[own]).sum())} of them,"
        f" and {int((~sure[~own]).sum())} of {(~own).sum()} clips of other words are turned down"
    )
    if counts:
        print(costs(compiled, graph, given))
    print("All scores are those of the reference, bit for bit." if equal else "Scores differ from the reference.")
    return 0 if equal and right.mean() >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
