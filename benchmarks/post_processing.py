"""What steps behind a model cost on an emulated core: the table of docs/improve/post-processing.md.

PYTHONPATH=src python benchmarks/post_processing.py [--target CORE]
"""

from __future__ import annotations

import argparse

import numpy as np

from mote.base.files import temporary_folder
from mote.bench.measure.runner import bench
from mote.compiler.line import compile_graph
from mote.compiler.settings import Settings
from mote.frontends.features.postprocess.answer import Answer
from mote.frontends.features.postprocess.pipeline import with_postprocessing
from mote.hardware import targets
from mote.hardware.toolchain import Mode
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.tensor import Quantization, Shape
from mote.ir.graph.types import DType

SCORES = ((1, 12),)
VECTORS = ((1, 640), (1, 640))
BOXES = ((1, 100, 4), (1, 100, 3))
CASES: tuple[tuple[str, tuple[Shape, ...], int], ...] = (
    ("moving-average=4", SCORES, 1),
    ("exponential-average=0.25", SCORES, 1),
    ("detect(1,0.5,minimum=3,within=5)", SCORES, 1),
    ("argmax=0.5", SCORES, 1),
    ("threshold=0.5", SCORES, 1),
    ("anomaly-score", VECTORS, 1),
    ("nms(0.5,0.5,10)", BOXES, 2),
)
"""Steps, the shapes of the int8 tensors that they read, and how many of these are outputs of the model."""


def graph_of(steps: str, shapes: tuple[Shape, ...], outputs: int) -> Graph:
    """A graph of steps alone, with the model's tensors as its inputs."""
    scales = (1 / 256, 1 / 200)
    tensors = {
        i: Tensor(i, f"x{i}", shape, DType.INT8, Quantization(np.array([scales[i]], np.float32), np.array([-128])))
        for i, shape in enumerate(shapes)
    }
    model = Graph("scores", tensors, (), tuple(tensors), tuple(tensors)[:outputs])
    return with_postprocessing(Answer.of(model, given=len(shapes) - 1), steps).graph


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="cortex-m4")
    target, rng = targets.load(parser.parse_args().target), np.random.default_rng(0)
    print("| step | of int8 | instructions | state, bytes | working memory, bytes |\n| --- | --- | --- | --- | --- |")
    for steps, shapes, outputs in CASES:
        made = compile_graph(graph_of(steps, shapes, outputs), Settings(target, name="decided"))
        given = [rng.integers(-128, 128, shape).astype(np.int8).tobytes() for shape in shapes]
        with temporary_folder() as folder:
            (count, *_) = bench(made, folder).execute(Mode.MEASURE, [given] * 2).instructions
        state = sum(s.initial.nbytes for s in made.plan.graph.states)
        taken = " and ".join("x".join(map(str, shape[1:])) for shape in shapes)
        scratch = sum(step.kernel.needs.scratch or 0 for step in made.plan.steps)
        print(f"| `{steps}` | {taken} | {count:,} | {state} | {scratch} |")


if __name__ == "__main__":
    main()
