"""What a model has learned is saved, loaded, and told from everything else; power fails at every flash operation."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mote.bench.measure.runner import bench
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.model.weights import learned
from mote.compiler.firmware import firmware
from mote.hardware.toolchain import Mode
from mote.ir.graph import Graph
from mote.ir.graph.types import StateRole
from mote.ir.ops.learning.gaussian import GaussianScores, GaussianUpdate
from tests.compiler.emit.c.test_project import FLAGS, compiler_or_skip, run
from tests.deploy.update.update_bench import HERE as UPDATE_TESTS
from tests.deploy.update.update_bench import INCLUDE, NO_LEAKS, SANITIZED
from tests.frontends.features.postprocess.scored import streamed
from tests.helpers.built import compile_model, side_by_side
from tests.helpers.support import emulated
from tests.ir.ops.learning.learners import learner, told
from tests.ir.ops.learning.test_neighbors import neighbors
from tests.ir.ops.learning.test_prototypes import prototypes

HERE = Path(__file__).parent


def gaussian(classes: int, size: int) -> Graph:
    """Means, sums of squares, logarithms and counts."""
    states = (*(np.zeros(shape, np.float32) for shape in ((classes, size), (classes, size), classes)),)
    sample = np.zeros((1, size), np.float32), told(0)
    kept = (*states, np.zeros(classes, np.int32))
    return learner((GaussianUpdate, {}), (GaussianScores, {}, "float32"), kept, sample)


def learners(**options: Any) -> Compiled:
    """Three learners with states of every kind, 351 bytes that are no whole words."""
    made = prototypes(3, 9), neighbors(3, 6, 5, 3), gaussian(3, 7)
    own = [replace(g, states=tuple(replace(s, role=StateRole.LEARNED) for s in g.states)) for g in made]
    return compile_model(side_by_side(own), name="net", **options)


def offsets(compiled: Compiled) -> dict[str, int]:
    """Where things that are forged lie in what is learned."""
    _, counts, _, labels, place, means, _, _, floats_end, _ = accumulate(
        (state.initial.nbytes for state in learned(compiled.plan)), initial=0
    )
    return {
        "COUNTS": counts,
        "LABELS": labels,
        "PLACE": place,
        "PLACES": 5,
        "FLOATS": means,
        "FLOATS_END": floats_end,
    }


def test_what_is_learned_survives_power_cuts_and_nothing_else_is_taken_for_it(tmp_path: Path) -> None:
    compiled = learners(target="host")
    assert f"#define NET_WEIGHTS_BYTES {16 + 352 + 4} " in compiled.project.files["net.h"]
    compiled.write(tmp_path)
    given = [f"-D{name}={value}" for name, value in offsets(compiled).items()]
    sources = [str(HERE / "weights.c"), str(UPDATE_TESTS / "nor.c"), "net.c"]
    cc = compiler_or_skip("gcc")
    run(
        [cc, *FLAGS, *SANITIZED, *given, *INCLUDE, f"-I{UPDATE_TESTS}", *sources, "-o", "weights", "-lm"],
        tmp_path,
    )
    done = subprocess.run(["./weights"], cwd=tmp_path, env=NO_LEAKS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    counted = re.fullmatch(r"cuts (\d+) loads (\d+)\n", done.stdout)
    assert counted and int(counted[1]) > 3_000


FLIPS = """\
#include "net.c"
#include <stdio.h>
FLASH
#define REQUIRE(fact) do { if (!(fact)) { printf("bit %u: %s\\n", (unsigned)bit, #fact); return 1; } } while (0)
int main(void) {
    static uint8_t record[NET_WEIGHTS_BYTES], before[NET_STATE_BYTES], after[NET_STATE_BYTES];
    uint32_t bit = 0;
    REQUIRE(net_init() == MOTE_OK && net_check() == MOTE_OK && net_export_weights(record, sizeof record) == MOTE_OK);
    REQUIRE(net_save_weights(&records) == MOTE_OK && net_save(before, sizeof before) == MOTE_OK);
    for (; bit < 8 * sizeof net_learned; bit++) {
        ((uint8_t *)net_learned)[bit / 8] ^= (uint8_t)(1 << bit % 8);
        REQUIRE(net_check() == MOTE_DAMAGED && net_import_weights(record, sizeof record) == MOTE_DAMAGED);
        REQUIRE(net_load_weights(&records) == MOTE_DAMAGED && net_save_weights(&records) == MOTE_DAMAGED);
        REQUIRE(net_export_weights(record, sizeof record) == MOTE_DAMAGED && net_saved_weights(&records) == 0);
        ((uint8_t *)net_learned)[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    REQUIRE(net_save(after, sizeof after) == MOTE_OK && memcmp(before, after, sizeof after) == 0);
    REQUIRE(net_check() == MOTE_OK && net_load_weights(&records) == MOTE_OK);
    printf("%u bits\\n", (unsigned)bit);
    return 0;
}
"""


def test_no_record_is_taken_by_a_damaged_table_of_what_is_learned(tmp_path: Path) -> None:
    """Every bit of the table, in a copy of the model where it can be changed."""
    compiled = learners(target="host")
    compiled.write(tmp_path)
    source = (tmp_path / "net.c").read_text()
    table = "static const mote_weights_part_t net_learned["
    assert source.count(table) == 1
    (tmp_path / "net.c").write_text(source.replace(table, table.replace("const ", "")))
    (tmp_path / "flips.c").write_text(FLIPS.replace("FLASH", FLASH))
    run([compiler_or_skip("gcc"), *FLAGS, *SANITIZED, "flips.c", "-o", "flips", "-lm"], tmp_path)
    done = subprocess.run(["./flips"], cwd=tmp_path, env=NO_LEAKS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout == f"{8 * 20 * len(learned(compiled.plan))} bits\n"


FLASH = """\
#include <string.h>
static uint8_t nor[4096], buffer[MOTE_RECORDS_BUFFER];
static int erase(void *context, uint32_t at, uint32_t bytes) { (void)context; memset(nor + at, 0xff, bytes); return 0; }
static int write(void *context, uint32_t at, const uint8_t *data, uint32_t bytes) {
    (void)context; memcpy(nor + at, data, bytes); return 0;
}
static const mote_flash_t flash = {nor, 8, erase, write, NULL, NULL};
static const mote_records_t records = {&flash, {0, sizeof nor, 1024}, buffer};
"""


def reloading(glue: str) -> str:
    """Glue to the harness by which each inference is that of a device that was just reset, and saves what it learns."""
    run = "int harness_run(void) {"
    assert glue.count(run) == 1
    saved = """
static int run(void);
int harness_run(void) {
    static int saved;
    const mote_status loaded = net_load_weights(&records);
    if (loaded != (saved ? MOTE_OK : MOTE_BAD_STATE)) return 99;
    const int status = run();
    if (status != 0 || net_save_weights(&records) != MOTE_OK || net_reset() != MOTE_OK) return status | 64;
    saved = 1;
    return 0;
}
static int run(void) {"""
    return glue.replace(run, FLASH + saved)


def test_a_core_that_is_reset_goes_on_with_what_it_has_learned(tmp_path: Path) -> None:
    compiled = learners(target=emulated("cortex-m4"))
    made = firmware(compiled)
    graph, rng = compiled.plan.graph, np.random.default_rng(3)
    given = []
    for i in range(8):
        drawn = [rng.integers(-9, 9, graph.tensors[t].shape) for t in graph.inputs]
        labelled = [
            told(i % 3) if graph.tensors[t].name.startswith("label") else x
            for t, x in zip(graph.inputs, drawn, strict=True)
        ]
        given.append({t: x.astype(graph.tensors[t].dtype.numpy) for t, x in zip(graph.inputs, labelled, strict=True)})
    raw = [[case[t].tobytes() for t in graph.inputs] for case in given]
    device = replace(made, glue=lambda mode: reloading(made.glue(mode)))
    printed = bench(device, tmp_path).execute(Mode.MEASURE, raw).outputs
    assert len(printed) == len(given)
    for got, wanted in zip(printed, streamed(graph, given), strict=True):
        for one, value in zip(got, wanted, strict=True):
            np.testing.assert_allclose(np.frombuffer(one, value.dtype), value.reshape(-1), rtol=1e-5)


USE = """\
#include "net.hpp"
#include <cstdio>
#include <cstring>
FLASH
#define REQUIRE(fact) do { if (!(fact)) { std::printf("line %d: %s\\n", __LINE__, #fact); return 1; } } while (0)
using mote::net_model;
int main() {
    static net_model a;
    static uint8_t first[net_model::weights_bytes], second[net_model::weights_bytes];
    REQUIRE(a && net_model::saved_weights(records) == 0 && a.load_weights(records) == mote::status::bad_state);
    REQUIRE(a.export_weights(first) == mote::status::ok);
    std::memset(a.input_0().data(), 7, a.input_0().size());
    *a.input_1().data() = 2;
    REQUIRE(a.run() == mote::status::ok && a.export_weights(second) == mote::status::ok);
    REQUIRE(std::memcmp(first, second, sizeof first) != 0 && a.save_weights(records) == mote::status::ok);
    REQUIRE(a.import_weights(first) == mote::status::ok && net_model::saved_weights(records) == 1);
    INSTANCE
    REQUIRE(b.load_weights(records) == mote::status::ok && b.export_weights(first) == mote::status::ok);
    REQUIRE(std::memcmp(first, second, sizeof first) == 0);
    mote_records_t none = records;
    none.area.bytes = 1024;
    REQUIRE(b.save_weights(none) == mote::status::bad_flash && b.load_weights(none) == mote::status::bad_flash);
    return 0;
}
"""


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("instances", [False, True])
def test_the_class_saves_and_loads(instances: bool, tmp_path: Path) -> None:
    """In one file; with instances, one goes on with what another has learned."""
    compiled = learners(target="host", cpp=True, single_file=True, instances=instances)
    compiled.write(tmp_path)
    other = "static net_model b;" if instances else "net_model &b = a;"
    (tmp_path / "use.cpp").write_text(USE.replace("FLASH", FLASH).replace("INSTANCE", other))
    run([compiler_or_skip("gcc"), *FLAGS, "-c", "net.c"], tmp_path)
    run(
        [compiler_or_skip("g++"), "-std=c++17", "-Wall", "-Wextra", "-Werror", "use.cpp", "net.o", "-o", "use"],
        tmp_path,
    )
    run(["./use"], tmp_path)


def test_models_that_learn_nothing_know_nothing_of_flash() -> None:
    compiled = compile_model(side_by_side([prototypes(3, 9)]), name="net", target="host")
    assert "mote_flash.h" not in compiled.project.files and "_weights(" not in compiled.project.files["net.h"]
