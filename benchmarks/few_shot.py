"""Three new words from five clips each: which features of a frozen keyword spotter, and which learner, tell them apart.

    PYTHONPATH=src:models:. python benchmarks/few_shot.py [--draws 60]

Words are new to the network. The bundled one was trained on eight made-up words and hears nine others, 40 clips each.
The published keyword spotter of MLPerf Tiny, where `../shared` has it and its clips, hears twenty words of Speech
Commands, ten clips each of as many speakers or nearly so; for that network all twenty were "unknown" when it was
trained. A draw is three words, five clips of each to learn from and the rest to be told apart; all learners have the
same draws. Learners are the operators that run on a device, in NumPy; `bytes` are their states.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from tests.ir.ops.learning.learners import learner, told

import made_up_words
from mote import frontends
from mote.bench.execute import batch
from mote.compiler.passes.training.learner_kinds import KINDS, all_settings
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.quantize import dequantized, quantized
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
BUNDLED = ROOT / "models" / "keywords.tflite"
PUBLISHED, CLIPS = SHARED / "models" / "kws_ref_model.tflite", SHARED / "data" / "keywords_mfcc.npz"
WORDS, SHOTS = 3, 5
EACH = 40
"""Clips of each new word."""


@dataclass(frozen=True, eq=False)
class Clips:
    """The inputs of a network, and the number of the word of each."""

    model: Path
    inputs: Array
    words: Array


@dataclass(frozen=True, eq=False)
class Features:
    """The int8 codes [clips, features] of a layer, and the tensor whose scale and zero point they have."""

    layer: str
    codes: Array
    tensor: Tensor


@dataclass(frozen=True)
class Way:
    """A learner with the usual settings and others, of `mote compile --train`."""

    name: str
    kind: str
    settings: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def takes_codes(self) -> bool:
        """Whether it learns from int8 codes, and not from floats."""
        return KINDS[self.kind].takes is DType.INT8

    def graph(self, size: int, tensor: Tensor) -> Graph:
        """The learner of WORDS classes for as many features of a tensor."""
        kind, features = KINDS[self.kind], replace(tensor, shape=(1, size))
        method = kind.make(features, WORDS, all_settings(self.kind, self.settings))
        read = [list(method.states).index(name) for name in method.read]
        return learner(
            (method.update, dict(method.taught)),
            (method.scores, dict(method.judged), method.result),
            list(method.states.values()),
            (np.zeros(features.shape, kind.takes.numpy), told(0)),
            read,
        )


WAYS = (
    Way("prototype", "prototype", {"metric": "euclidean"}),
    Way("prototype, cosine", "prototype"),
    *(Way(f"knn, {n} neighbors", "knn", {"neighbors": n}) for n in (1, 3)),
    *(Way(kind, kind) for kind in ("bayes", "logistic", "ridge")),
)


def bundled() -> Clips:
    rng = np.random.default_rng(3)
    inputs = [made_up_words.word(tracks, rng) for tracks in made_up_words.NEW.values() for _ in range(EACH)]
    return Clips(BUNDLED, np.array(inputs, np.float32)[..., None], np.repeat(np.arange(len(made_up_words.NEW)), EACH))


def published() -> Clips:
    with np.load(CLIPS) as data:
        unknown = data["y"] == list(data["labels"]).index("unknown")
        names = [clip.split("/")[0] for clip in data["clip"][unknown].tolist()]
        return Clips(PUBLISHED, data["x"][unknown], np.unique(names, return_inverse=True)[1])


def features(clips: Clips) -> Iterator[Features]:
    """What the last layer takes, and the last depthwise layer: over all positions, its largest values and its means."""
    graph = frontends.load(str(clips.model))
    (source,) = graph.inputs
    (last,) = (op.inputs[0] for op in graph.ops if isinstance(op, FullyConnected))
    deep = [op.outputs[0] for op in graph.ops if isinstance(op, DepthwiseConv2D)][-1]
    given = quantized(clips.inputs, graph.tensors[source]).reshape(len(clips.inputs), *graph.tensors[source].shape)
    made = list(batch.evaluate(graph, [{source: x} for x in given], [last, deep]))
    flat, maps = (np.concatenate([values[t] for values in made]) for t in (last, deep))
    yield Features("fully connected, input", flat.reshape(len(flat), -1), graph.tensors[last])
    means = np.rint(maps.mean((1, 2))).astype(np.int8)
    yield Features("last depthwise, mean", means, graph.tensors[deep])
    yield Features("last depthwise, max", maps.max((1, 2)), graph.tensors[deep])


def draws(clips: Clips, count: int) -> list[tuple[list[list[int]], list[list[int]]]]:
    """The clips that each of the words of a draw is learned from, and the others of these words."""
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(count):
        chosen = rng.choice(int(clips.words.max()) + 1, WORDS, replace=False)
        mixed = [rng.permutation(np.flatnonzero(clips.words == word)).tolist() for word in chosen]
        drawn.append(([own[:SHOTS] for own in mixed], [own[SHOTS:] for own in mixed]))
    return drawn


def accuracy(graph: Graph, samples: Array, learned: Sequence[Sequence[int]], tried: Sequence[Sequence[int]]) -> float:
    """The share of tried clips of which the best score is that of their word. Words take turns in being learned."""
    scores, update = graph.ops
    values: dict[int, Array] = {s.before: s.initial for s in graph.states}

    def computed(op: Any, x: Array, label: int) -> list[Array]:
        given = {graph.inputs[0]: x[None], graph.inputs[1]: told(label), **values}
        made: list[Array] = op.evaluate(graph, [given[t] for t in op.inputs])
        return made

    for turn in zip(*learned, strict=True):
        for label, clip in enumerate(turn):
            values |= {
                s.before: x for s, x in zip(graph.states, computed(update, samples[clip], label)[1:], strict=True)
            }
    right = [
        int(computed(scores, samples[clip], -1)[0].argmax()) == label for label, own in enumerate(tried) for clip in own
    ]
    return float(np.mean(right))


@dataclass(frozen=True)
class Row:
    """The accuracy of a learner on features in each draw, and the bytes of its states."""

    features: str
    learner: str
    bytes: int
    shares: Array

    def __str__(self) -> str:
        mean, spread, least = (100 * x for x in (self.shares.mean(), self.shares.std(), self.shares.min()))
        return f"| {self.features} | {self.learner} | {mean:.1f} | {spread:.1f} | {least:.1f} | {self.bytes:,} |"


def rows(clips: Clips, count: int, ways: Sequence[Way] = WAYS) -> Iterator[Row]:
    drawn = draws(clips, count)
    for made in features(clips):
        for way in ways:
            graph = way.graph(made.codes.shape[1], made.tensor)
            samples = made.codes if way.takes_codes else dequantized(made.codes, made.tensor).astype(np.float32)
            shares = np.array([accuracy(graph, samples, *draw) for draw in drawn])
            yield Row(made.layer, way.name, sum(s.initial.nbytes for s in graph.states), shares)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=60, help="choices of words and clips (default: 60)")
    count = parser.parse_args().draws
    every = [("bundled network, made-up words", bundled)]
    if PUBLISHED.exists() and CLIPS.exists():
        every.append(("MLPerf Tiny's network, spoken words", published))
    for title, clips in every:
        print(f"{title}: {WORDS} new words, {SHOTS} clips each, {count} draws\n")
        print("| features | learner | accuracy % | deviation | worst draw | bytes |\n|---|---|--:|--:|--:|--:|")
        for row in rows(clips(), count):
            print(row, flush=True)
        print()


if __name__ == "__main__":
    main()
