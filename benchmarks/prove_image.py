"""Proofs with Frama-C's Eva: the runtime's checker and executor have no run-time error on small images of every form.

    prove_image.py                      # part of make prove
    prove_image.py --machine gcc_x86_64

The image is fixed, and was made by hand so that all forms of ops are in it; memory, inputs and what the model remembers
hold any bytes before it is loaded and run. That no other image can break the runtime is tested, not proven: what the
checks compare (an offset and a count with what is left) relates two unknown numbers, and intervals know no relations.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from tests.compiler.emit.image.handmade import Handmade, every_form, pushed, training

import prove
from mote.compiler.emit.image import format
from mote.compiler.emit.image.format import Feature
from mote.compiler.kernels import library

RUNTIME = Path(format.__file__).parent / "runtime"
BY_HAND = Path(__file__).parents[1] / "tests" / "compiler" / "emit" / "image"
IMAGES = {
    "every form": every_form,
    "wide tables": lambda: every_form(Feature.WIDE),
    "pushed rows": pushed,
    "training": training,
}
RINGS = 3
"""Rows of the ring buffer in these images."""

HARNESS = """\
/* An image in every state that it can be in, on every input. */
#include "__fc_builtin.h"
#include "mote_check.c"
#include "mote_execute.c"
#include "mote_runtime.c"
#include "mote_train.c"
#include "handmade.c"

#define ANY(address, bytes) Frama_C_make_unknown((char *)(address), bytes)

static const uint32_t image[] = {{{words}}};
static uint64_t arena[{arenas[0]} / 8], second[{arenas[1]} / 8 + 1], state[64];
static uint8_t saved[256], rows[{row} + 1];
static mote_interpreter_t model;

int main(void) {{
    mote_needs_t needs;
    mote_problem_t problem;
    mote_tensor_t info;
    const mote_memory_t memory = {{{{arena, second}}, {{sizeof arena, sizeof second}}, state, sizeof state}};
    (void)mote_needs(image, sizeof image, &needs);
    ANY(arena, sizeof arena);
    ANY(second, sizeof second);
    ANY(state, sizeof state);
    mote_status status = mote_init(&model, &mote_kernels, image, sizeof image, &memory, &problem);
    if (status != MOTE_OK) {{ /* memory that is not aligned */
        return 1;
    }}
    if ({rings} > 0) {{
        model.oldest[0] = (uint16_t)Frama_C_interval(0, {most});
    }}
    *mote_missing(&model) = (uint16_t)Frama_C_interval(0, {warm_up});
    (void)mote_save(&model, saved, sizeof saved);
    (void)mote_input_info(&model, 0, &info);
    (void)mote_output_index(&model, "output");
    if ({pushed}) {{
        ANY(rows, sizeof rows);
        for (int i = 0; i < 4; i++) {{
            status = mote_push(&model, rows, 1);
        }}
    }} else {{
        ANY(mote_input(&model, 0), {input});
        status = mote_invoke(&model);
    }}
    if ({trains}) {{
        status = mote_train_begin(&model, 0.5f);
        ANY(mote_input(&model, 0), {input});
        (void)mote_train(&model, Frama_C_interval(1, INT32_MAX));
        status = mote_train(&model, 0);
        (void)mote_train_end(&model);
    }}
    //@ assert done: status == MOTE_OK || status == MOTE_WAITING;
    (void)mote_output(&model, 0);
    return 0;
}}
"""


def harness(made: Handmade) -> str:
    """The main function around an image."""
    image = made.image()
    return HARNESS.format(
        words=", ".join(f"0x{word:08x}u" for word in np.frombuffer(image, "<u4")),
        arenas=made.arena,
        rings=made.rings,
        most=RINGS - 1,
        warm_up=made.warm_up,
        pushed=int(bool(made.features & Feature.PUSHED)),
        trains=int(bool(made.features & Feature.TRAINS)),
        row=made.ports[0]["row_bytes"],
        input=made.ports[0]["bytes"],
    )


def proof(name: str, machine: str = "gcc_x86_32", kernels: Path = BY_HAND) -> prove.Proof:
    """Run Eva over an image, with the kernels of `handmade.c` in a folder."""
    with TemporaryDirectory() as folder:
        at = Path(folder)
        (at / "prove.c").write_text(harness(IMAGES[name]()), encoding="utf-8")
        includes = " ".join(f"-I{path}" for path in (kernels, RUNTIME, *library.FOLDERS, *library.FITS))
        options = [o for o in prove.OPTIONS if not o.startswith("-cpp-extra-args")]
        split = ["-eva-split-return", "full", "-eva-slevel", "2000", "-eva-auto-loop-unroll", "300"]
        command = ["frama-c", "-machdep", machine, *options, *split, f"-cpp-extra-args={prove.PORTABLE} {includes}"]
        begin = prove.cpu()
        done = subprocess.run(
            [*command, f"{at}/prove.c", *prove.REPORT, f"{at}/report.csv"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-2000:]}")
        reached = {f: (int(seen), int(all_)) for f, seen, all_ in prove.COVERED.findall(done.stdout)}
        found = tuple(prove.findings(at / "report.csv", reached))
        return prove.Proof(name, "image", machine, found, reached, prove.cpu() - begin)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--machine", default="gcc_x86_32", help="gcc_x86_32, gcc_x86_64 or another that Frama-C knows")
    options = p.parse_args()
    print(prove.HEAD)
    found = [proof(name, options.machine) for name in IMAGES]
    for one in found:
        print(one.row)
    for finding in (f for one in found for f in one.findings):
        print(finding)
    sys.exit(any(one.findings for one in found))


if __name__ == "__main__":
    main()
