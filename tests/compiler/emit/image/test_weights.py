"""What an image has learned is saved and loaded with a MAC, and nothing else is taken for it; power fails at every
flash operation: the program of `tests/compiler/emit/c/test_weights.py` with a runtime in the place of generated C."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from mote.compiler.emit.c.values import CTYPES
from mote.compiler.emit.image import format
from mote.compiler.emit.image.c_array import c_array
from mote.compiler.emit.image.entries import Limits, entry_files
from mote.compiler.emit.image.kernels import merged, record
from mote.compiler.emit.image.reader import ImageContents, read
from mote.compiler.emit.image.sources import runtime_files
from mote.deploy.update.sources import mac_files
from tests.compiler.emit.c.test_weights import HERE as C_TESTS
from tests.compiler.emit.c.test_weights import learners, offsets
from tests.compiler.emit.image.image_models import packed
from tests.deploy.update.update_bench import HERE as UPDATE_TESTS
from tests.deploy.update.update_bench import NO_LEAKS, SANITIZED, UPDATE, WIRE
from tests.helpers.support import FUZZ, needs

FLAGS = ["-std=gnu99", "-fwrapv", "-Wall", "-Wextra", "-Werror", "-D_POSIX_C_SOURCE=200809L"]


def shim(image: ImageContents, arena: int, state: int, record: int) -> str:
    """A runtime with an image, by the names of generated C; another image with other bytes in its header."""
    inputs = "\n".join(
        f"#define NET_INPUT_{i}_SIZE {port.nbytes // port.dtype.itemsize}\n"
        f"static {CTYPES[port.dtype].name} *net_input_{i}(void) {{ return mote_input(&net, {i}); }}"
        for i, port in enumerate(image.inputs)
    )
    nbytes = image.header["bytes"]
    return f"""\
#include <string.h>
#include "mote_hmac.h"
#include "mote_image.h"
#include "mote_kernels.h"
#include "mote_train.h"
#include "net_image.h"
#define NET_WEIGHTS_BYTES {record}
static uint64_t arena[{-(-arena // 8)}], state[{-(-state // 8)}], other[{nbytes // 8}];
static mote_interpreter_t net;
static uint8_t net_key[32] = {{3, 1, 4, 1, 5, 9, 2, 6}};
static int net_other;
static mote_hmac_t hmac;
static mote_mac_t made;
static const mote_mac_t *net_mac = &made;
{inputs}
static mote_status net_init(void) {{
    const mote_memory_t memory = {{{{arena}}, {{sizeof arena}}, state, sizeof state}};
    memcpy(other, net_image, sizeof other);
    ((mote_header_t *)other)->version++;
    made = mote_hmac(&hmac, net_key, sizeof net_key);
    return mote_init(&net, &mote_kernels, net_other ? other : net_image, sizeof other, &memory, NULL);
}}
static mote_status net_run(void) {{ return mote_invoke(&net); }}
static mote_status net_step(void) {{ return mote_step(&net); }}
static mote_status net_save_weights(const mote_records_t *r) {{ return mote_save_weights(&net, r, net_mac); }}
static mote_status net_load_weights(const mote_records_t *r) {{ return mote_load_weights(&net, r, net_mac); }}
static uint32_t net_saved_weights(const mote_records_t *r) {{ return mote_saved_weights(&net, r, net_mac); }}
static mote_status net_export_weights(void *r, size_t n) {{ return mote_export_weights(&net, r, n, net_mac); }}
static mote_status net_import_weights(const void *r, size_t n) {{ return mote_import_weights(&net, r, n, net_mac); }}
"""


def test_what_is_learned_survives_power_cuts_and_nobody_forges_it(tmp_path: Path) -> None:
    needs("gcc")
    compiled = learners(target="host")
    program, data = packed(compiled.source)
    image, kernels = read(data), merged(map(record, program.kernels))
    counts = 1 + image.header["rings"] + image.header["counters"] + len(kernels)
    state = format.aligned(image.header["states"] + 2 * counts)
    files = {**runtime_files(), **entry_files(kernels, Limits()), **mac_files(), **c_array(data, "net")}
    files["net.h"] = shim(image, image.header["arena"][0], state, image.record_bytes)
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    given = [f"-D{name}={value}" for name, value in offsets(compiled).items()]
    sources = [str(C_TESTS / "weights.c"), str(UPDATE_TESTS / "nor.c"), *(n for n in files if n.endswith(".c"))]
    command = [
        "gcc",
        *FLAGS,
        *SANITIZED,
        *given,
        "-DAUTHENTIC",
        *([] if FUZZ else ["-DGEOMETRIES=2"]),
        "-I.",
        *(f"-I{f}" for f in (UPDATE_TESTS, UPDATE, WIRE)),
    ]
    done = subprocess.run(
        [*command, *sources, "-o", "weights", "-lm"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    ran = subprocess.run(["./weights"], cwd=tmp_path, env=NO_LEAKS, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr[-3000:]
    counted = re.fullmatch(r"cuts (\d+) loads (\d+)\n", ran.stdout)
    assert counted and int(counted[1]) > 1_000
