"""Samples that are pushed into a model with its preprocessing."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

import mlperf_tiny
from mote.bench.execute import reference
from mote.bench.measure.runner import bench
from mote.compiler.line import compile
from mote.compiler.lower.program import program
from mote.compiler.several import compile_several
from mote.hardware.toolchain import Mode
from tests.compiler.emit.c.test_project import FLAGS, compiler_or_skip, run
from tests.helpers.network import Net

HOP, HOPS = 160, 40
BANDS = "audio,log-mel(filters=10,unit=ln,floor=1e-9),offset=10,scale=0.3"
SHARED = r"""
#include <string.h>
#include "mote_models.h"
static int16_t samples[2 * KEYWORDS_INPUT_ROWS];
int main(void) {
    int8_t first[KEYWORDS_OUTPUT_SIZE];
    unsigned noise = 1;
    for (size_t i = 0; i < 2 * KEYWORDS_INPUT_ROWS; i++) {
        noise = noise * 1664525u + 1013904223u;
        samples[i] = (int16_t)((noise >> 16) & 0xFFFFu);
    }
    if (keywords_init() != MOTE_OK || keywords_push(samples, KEYWORDS_INPUT_ROWS) != MOTE_OK) return 1;
    memcpy(first, keywords_output(), sizeof first);
    /* Samples behind the window are taken into the arena, and another model runs in it: outputs stay. */
    if (keywords_init() != MOTE_OK || keywords_push(samples, 2 * KEYWORDS_INPUT_ROWS - 1) != MOTE_OK) return 2;
    if (memcmp(first, keywords_output(), sizeof first) != 0) return 3;
    if (other_init() != MOTE_OK || other_push(samples, KEYWORDS_INPUT_ROWS) != MOTE_OK) return 4;
    if (memcmp(first, keywords_output(), sizeof first) != 0) return 5;
    return memcmp(first, other_output(), sizeof first) == 0 ? 0 : 6;
}
"""


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


def test_models_with_preprocessing_share_an_arena(tmp_path: Path) -> None:
    net = Net()
    model = tmp_path / "keywords.tflite"
    model.write_bytes(net.finish(net.mean(net.conv(net.input(1, 5, 10, 1), 4))))
    other = shutil.copy(model, tmp_path / "other.tflite")
    made = compile_several([model, other], running="turns", preprocess=BANDS)
    made.write(tmp_path / "both")
    (tmp_path / "both" / "main.c").write_text(SHARED)
    run([compiler_or_skip("gcc"), *FLAGS, "main.c", *made.project.sources, "-o", "program", "-lm"], tmp_path / "both")
    run(["./program"], tmp_path / "both")
