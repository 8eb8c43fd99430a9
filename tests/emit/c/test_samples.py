"""Samples that are pushed into a model with its preprocessing."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import mlperf_tiny
from mote.compiler.firmware import bench
from mote.compiler.line import compile
from mote.execute import reference
from mote.lower.program import program
from mote.toolchain import Mode

HOP, HOPS = 160, 40


def test_a_model_whose_steps_all_have_one_turn(tmp_path: Path) -> None:
    """It has no table of the schedule: a step's number is its place."""
    made = compile(mlperf_tiny.build("sww"), preprocess="audio(16000),micro-frontend,scale=1/700", stream=1)
    assert program(made.plan).straight and "_schedule" not in made.project.files[made.project.sources[0]]
    graph = made.plan.graph
    hops = np.random.default_rng(5).integers(-9000, 9000, (HOPS, HOP)).astype(np.int16)
    ran = bench(made, tmp_path).execute(Mode.DUMP, [[hop.tobytes()] for hop in hops])
    numpy, raw = reference.numpy(graph), graph.tensors[graph.inputs[0]]
    outputs = [numpy({graph.inputs[0]: hop.reshape(raw.shape)}) for hop in hops]
    wanted = [bytes(values[graph.outputs[0]].tobytes()) for values in outputs if values is not None]
    assert [output for (output,) in ran.outputs] == wanted and len(set(wanted)) > 3
