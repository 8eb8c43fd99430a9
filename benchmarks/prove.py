"""Proofs with Frama-C's Eva: the generated C of a model has no run-time error, whatever its inputs are.

    make prove                                            # the table of docs/trust/assurance.md; an hour or more
    prove.py                                              # the small models of the matrix only
    prove.py models/digits.tflite --mode rows --mode pushed
    prove.py layers --machine gcc_x86_64 --keep build/proof

A model is compiled for the host, where every kernel is portable C, and analysed behind a small main function: working
memory, inputs and what a model remembers hold any bytes, so that one run stands for every run. Eva follows the program
with intervals for all values at once and lists each operation that it cannot show to be defined: accesses outside of an
object, signed overflow, shifts too far, uninitialised reads, conversions out of range, divisions by zero. Exit code 1
where it lists one, or where an annotation is not proven.
"""

from __future__ import annotations

import argparse
import csv
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.helpers.built import compile_model
from tests.helpers.onnx_numbers import numbers
from tests.ir.ops.indexing import test_scatter

import provable
from mote.base.errors import MoteError
from mote.compiler import line as compiler
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.model.arenas import places
from mote.compiler.emit.c.model.handle import HANDLE, called, variable
from mote.compiler.emit.c.model.ports import CPort, caller_arenas, init_call, inputs, outputs
from mote.compiler.kernels import portable
from mote.frontends.model import Model
from mote.ir.graph.rows import row_count
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.cast import Cast
from mote.ir.ops.elementwise.quantize import Quantize

BUNDLED = Path(__file__).parents[1] / "models"
MODES: dict[str, dict[str, Any]] = {
    "layers": {"optimize": "speed"},
    "rows": {"least_ram": True},
    "pushed": {"input": "rows"},
    "stream": {"stream": 1, "causal": True},
    "coded": {"optimize": "size", "kernels": provable.CODED},
    "caller arena": {"caller_arena": True},
    "row steps": {"step": "row"},
    "instances": {"instances": True},
    "instances, stream": {"instances": True, "stream": 1, "causal": True},
}
SMALL: dict[str, Callable[[], bytes | Model]] = {
    "layers": partial(provable.layers, "int8"),
    "layers float": partial(provable.layers, "float32"),
    "elements": partial(provable.elements, "int8"),
    "elements float": partial(provable.elements, "float32"),
    "norms": partial(provable.norms, "int8"),
    "norms float": partial(provable.norms, "float32"),
    "recurrent": partial(provable.recurrent, "int8"),
    "recurrent float": partial(provable.recurrent, "float32"),
    "edges": provable.edges,
    "functions": provable.functions,
    "pairs": provable.pairs,
    "conversions": provable.conversions,
    "boxes": provable.boxes,
    "wide layers": provable.wide_layers,
    "moves": test_scatter.every,
    "picked rows": provable.picked_rows,
    "front": provable.front,
    "spectra": provable.spectra,
    "reductions": provable.reductions,
    "reduced rows": provable.reduced_rows,
    "maxima": provable.maxima,
    "row sums": provable.row_sums,
    "pooled rows": provable.pooled_rows,
    "sequences": provable.sequences,
    "products": provable.products,
    "lines": partial(provable.lines, turned=False),
    "lines turned": partial(provable.lines, turned=True),
    "coded": provable.coded,
    "halves": provable.halves,
    "window": provable.window,
    "unsigned": provable.unsigned,
    "hybrid": provable.hybrid,
    "flow": provable.flow,
    "built": provable.built,
    "numbers": partial(numbers, regions=False),
    "trees": provable.trees,
    "vectors": provable.vectors,
    "even": provable.even,
    "images": provable.images,
    "decisions": provable.decisions,
    "learners": provable.learners,
    "gradients": provable.gradients,
    "integer steps": provable.integer_steps,
    "integer gradients": provable.integer_gradients,
    "micro": provable.micro,
    "filters": provable.filters,
    "motion": provable.motion,
}
QUICK = (
    ("layers", "pushed"),
    ("layers", "stream"),
    ("layers float", "layers"),
    ("layers float", "stream"),
    ("elements", "layers"),
    ("elements", "rows"),
    ("elements float", "layers"),
    ("norms", "layers"),
    ("norms float", "layers"),
    ("recurrent", "instances"),
    ("layers", "instances, stream"),
    ("recurrent", "caller arena"),
    ("recurrent float", "layers"),
    ("edges", "layers"),
    ("functions", "layers"),
    ("pairs", "layers"),
    ("conversions", "layers"),
    ("boxes", "layers"),
    ("wide layers", "rows"),
    ("moves", "layers"),
    ("picked rows", "rows"),
    ("front", "layers"),
    ("spectra", "layers"),
    ("reductions", "layers"),
    ("reduced rows", "pushed"),
    ("reduced rows", "layers"),
    ("maxima", "pushed"),
    ("row sums", "pushed"),
    ("pooled rows", "pushed"),
    ("sequences", "layers"),
    ("products", "layers"),
    ("lines", "rows"),
    ("lines turned", "rows"),
    ("coded", "coded"),
    ("halves", "layers"),
    ("window", "stream"),
    ("unsigned", "layers"),
    ("hybrid", "layers"),
    ("flow", "layers"),
    ("built", "layers"),
    ("numbers", "layers"),
    ("trees", "layers"),
    ("vectors", "layers"),
    ("even", "layers"),
    ("images", "layers"),
    ("decisions", "layers"),
    ("learners", "layers"),
    ("gradients", "layers"),
    ("integer steps", "layers"),
    ("integer gradients", "layers"),
    ("micro", "layers"),
    ("filters", "layers"),
    ("motion", "layers"),
)
"""The proofs of `make test-all`: they reach every function of the portable kernels."""
FOR_DSP = "only kernels for cores with DSP instructions call it"
NOT_YET = "no model of the proofs has it yet; the tests call it under the sanitizers"
REGIONS = "Eva does not see that comparisons leave no NaN; mutants of its parameters run under the sanitizers"
TRANSFORMS = (
    "Eva's intervals do not see that stages of a transform keep magnitudes; the tests run it under the sanitizers"
)
FOR_FPU = "only kernels for cores with an FPU call it"
PATCHING = ("line", "one", "pixels", "place", "row", "rows", "suspect")
BLOCKS = (
    "block4_f32",
    "block4_rows_f32",
    "block_finish_f32",
    "columns",
    "max",
    "taps1_f32",
    "taps1_rows_f32",
    "taps4_f32",
    "taps4_rows_f32",
)
ANGLES = ("acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "half_exp", "log1p", "sinh")
SAMPLES = ("cubic_far", "cubic_near", "grid_sample_f32", "reflected", "sample", "sample_axis", "sample_pixel")
CELLS = ("max_roi_pool_f32", "roi_edge", "roi_most", "roi_pixel", "roi_align_f32", "roi_axis", "roi_cell", "roi_place")
ALONE = ("other_side", "add_even_s8", "mul_steps_s8", "forest_key_f32", "forest_key_s32", "modulo", "wrapping_power")
COMPLEX = ("complex", "complex_constant", "complex_magnitudes", "complex_of", "complex_store")
PARTS = ("imag", "imag_add", "imags_add", "real", "real_add", "reals_add")
UNREACHED = {
    **{f"mote_{name}": TRANSFORMS for name in (*COMPLEX, *PARTS)},
    **{f"mote_patch_{name}": FOR_DSP for name in PATCHING},
    **{f"mote_{name}f": NOT_YET for name in ANGLES},
    **{f"mote_{name}": REGIONS for name in (*SAMPLES, "sample_place", *CELLS, "roi_sample")},
    **{f"mote_{name}": NOT_YET for name in ALONE},
    **{f"mote_{name}": FOR_FPU for name in BLOCKS},
    "mote_dot_less_zero": FOR_DSP,
    "mote_table_rows_s8": "digits reaches it, by rows, in `make prove`",
    "mote_table_rows_f32": "the same as mote_table_rows_s8 but for the type of its pointers",
    "mote_copy_bytes": "it is for cores that trap unaligned words, instead of memcpy",
}
"""Functions of the portable kernels that no proof reaches, and why."""
MACHINES = ("gcc_x86_32", "gcc_x86_64")
"""What Frama-C calls a machine: sizes of types and of pointers, little endian, as on the cores that Mote compiles for.
The first is the usual one."""
STATES = 200
"""States that Eva keeps apart before it merges them: more than any loop of a kernel makes."""
UNROLL = 1 << 20
"""Loops with fewer rounds are followed round by round: all that a model has."""
APART = ("mote_softmax_reciprocal", "mote_half_reciprocal_s16")
"""Functions with an annotation that has values looked at in pieces, which are kept apart all through their loops."""
PORTABLE = "-DMOTE_PORTABLE -U__ARM_FEATURE_CLZ"
"""The preprocessor is this machine's, which may have instructions that kernels would use."""
OPTIONS = (
    *("-eva", "-eva-no-print", "-eva-no-results", "-eva-no-show-progress", "-eva-slevel", str(STATES)),
    *("-eva-auto-loop-unroll", str(UNROLL), "-warn-special-float", "none", "-eva-msg-key=-initial-state"),
    f"-cpp-extra-args={PORTABLE}",
)
REPORT = ("-then", "-metrics", "-metrics-eva-cover", "-then", "-report-csv")
PROVEN = ("Valid", "Considered valid")
KERNELS = tuple(Path(portable.__file__).parents[1] / name for name in ("portable", "primitives"))
DEFINED = re.compile(r"^(?:static|MOTE_\w+) [^;{}=()#]*?(mote_\w+)\(", re.MULTILINE)
COVERED = re.compile(r"^  (\w+): (\d+) stmts out of (\d+) ", re.MULTILINE)

HARNESS = """\
/* {name} in every state that it can be in, on every input. */
#include <float.h>

#include "__fc_builtin.h"
#include "{name}.c"

#define ANY(address, bytes) Frama_C_make_unknown((char *)(address), bytes)

{definitions}
int main(void) {{
    mote_status status = {init};
    if (status != MOTE_OK) {{ /* an arena that is not aligned */
        return 1;
    }}
{body}
    return 0;
}}
"""


KEEPING = (
    "(void){name}_check();",
    "static uint8_t saved[{upper}_STATE_BYTES];",
    "ANY(saved, sizeof saved);",
    "(void){restore};",
    "(void){save};",
)
"""What a model that remembers can be asked for, with any bytes as a saved state."""


@dataclass(frozen=True)
class Finding:
    """Something that is not proven, and where."""

    file: str
    line: int
    function: str
    kind: str
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}: {self.kind}: {self.what}"


@dataclass(frozen=True)
class Proof:
    """What Eva made of a model in a mode. `reached`: for each function the statements that can be reached, and all."""

    model: str
    mode: str
    machine: str
    findings: tuple[Finding, ...]
    reached: dict[str, tuple[int, int]]
    seconds: float

    @property
    def row(self) -> str:
        seen, all_ = (sum(counts) for counts in zip(*self.reached.values(), strict=True))
        cells = (self.model, self.mode, self.machine, len(self.reached), f"{100 * seen // all_}%", len(self.findings))
        return f"| {' | '.join(map(str, cells))} | {self.seconds:.0f} |"


HEAD = """\
| model | mode | machine | functions | statements reached | alarms | seconds |
|---|---|---|--:|--:|--:|--:|"""


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("models", nargs="*", default=list(SMALL), help=f".tflite files, or of {', '.join(SMALL)}")
    p.add_argument("--mode", action="append", choices=MODES, help="may be given several times (default: all)")
    p.add_argument("--machine", default=MACHINES[0], help=f"{', '.join(MACHINES)} or another that Frama-C knows")
    p.add_argument("--keep", type=Path, metavar="DIR", help="leave the generated C and the logs here")
    options = p.parse_args()
    print(HEAD)
    found = []
    for name in options.models:
        for mode in options.mode or MODES:
            compiled = compiled_as(name, mode)
            if compiled is not None:
                found.append(prove(compiled, (name, mode, options.machine), options.keep))
                print(found[-1].row, flush=True)
    for proof in found:
        for finding in proof.findings:
            print(f"{proof.model}, {proof.mode}: {finding}")
    sys.exit(any(proof.findings for proof in found))


def kernel_functions() -> dict[str, str]:
    """The functions of the portable kernels and of the primitives in portable C, without those that macros name, and
    the file of each."""
    return {
        name: path.name
        for folder in KERNELS
        for path in sorted(folder.glob("*.h"))
        for name in DEFINED.findall(path.read_text(encoding="utf-8"))
    }


def compiled_as(name: str, mode: str) -> Compiled | None:
    """A model of the matrix, or a file, in a mode; None where the model is refused in this mode."""
    data = SMALL[name]() if name in SMALL else Path(name).read_bytes()
    try:
        make = compile_model if isinstance(data, Model) else compiler.compile
        return make(data, target="host", name="net", **MODES[mode])
    except MoteError:
        return None


def prove(compiled: Compiled, what: tuple[str, str, str], keep: Path | None = None) -> Proof:
    """Run Eva over a model; `what` are the names of the model, the mode and the machine."""
    with TemporaryDirectory() as folder:
        at = Path(folder) if keep is None else keep / "-".join(what).replace("/", "_").replace(" ", "_")
        compiled.write(at, force=True)
        (at / "prove.c").write_text(harness(compiled), encoding="utf-8")
        begin = cpu()
        log = analyse(at, "".join(compiled.project.files.values()), what[2])
        seconds = cpu() - begin
        reached = {name: (int(seen), int(all_)) for name, seen, all_ in COVERED.findall(log)}
        return Proof(*what, tuple(findings(at / "report.csv", reached)), reached, seconds)


def analyse(folder: Path, sources: str, machine: str) -> str:
    apart = [f"-{name}" for name in APART if f"{name}(" in sources]
    split = ["-eva-slevel-merge-after-loop", ",".join(["@all", *apart]), "-eva-split-return-function", "net_init:0"]
    command = ["frama-c", "-machdep", machine, *OPTIONS, *split, f"{folder}/prove.c", *REPORT, f"{folder}/report.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (folder / "prove.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def findings(report: Path, reached: dict[str, tuple[int, int]]) -> Iterator[Finding]:
    """What is not proven of the program's own files. Code behind an operation that never succeeds is never looked at,
    so main must come to its end."""
    with report.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if row["status"] not in PROVEN and not row["directory"].startswith("FRAMAC_SHARE"):
                yield Finding(row["file"], int(row["line"]), row["function"], row["property kind"], row["property"])
    seen, statements = reached.get("main", (0, 0))
    if seen < statements or not statements:
        yield Finding("prove.c", 0, "main", "unreachable", f"{statements - seen} statements are never reached")


def harness(compiled: Compiled) -> str:
    """The main function: once through the model, from any state."""
    plan, options = compiled.plan, compiled.project.options
    kept, saved = variable(options, "kept"), ("saved", "sizeof saved")
    rings = {b.ring: len(b.offsets) for b in plan.buffers if b.ring is not None} if plan.graph.states else {}
    bounds = {f"{kept}.oldest[{ring}]": rows - 1 for ring, rows in sorted(rings.items())}
    if plan.graph.warm_up:
        bounds[f"{kept}.missing"] = plan.graph.warm_up
    body = [_any(f"{a.storage(options)}", str(a.nbytes)) for a in places(plan).values()]
    body += [f"{name} = (uint16_t)Frama_C_interval(0, {most});" for name, most in bounds.items()]
    if plan.graph.states:
        calls = {what: called(options, what, *saved) for what in ("restore", "save")}
        body += [line.format(name=options.name, upper=options.name.upper(), **calls) for line in KEEPING]
    body += _runs(compiled)
    body.append("//@ assert done: status == MOTE_OK || status == MOTE_WAITING;")
    body += [f"//@ assert kept: {name} <= {most};" for name, most in bounds.items()]
    for port in outputs(plan, options):
        there = f"out + (0 .. {port.macro}_SIZE - 1)"
        body += [
            f"{{   {port.ctype} *const out = {port.call};",
            f"    //@ assert output: \\valid_read({there}) && \\initialized({there});",
            "    (void)out;",
            "}",
        ]
    if options.instances:
        body = [line.replace(f"{HANDLE}->", f"{HANDLE}.") for line in body]
    return HARNESS.format(
        name=options.name,
        definitions="".join(f"{line}\n" for line in caller_arenas(plan, options)),
        init=init_call(plan, options),
        body="\n".join(f"    {line}" for line in body),
    )


def _runs(compiled: Compiled) -> list[str]:
    """One inference."""
    plan, options = compiled.plan, compiled.project.options
    given = inputs(plan, options)
    if not plan.pushed:
        wrote = [
            _written(port, quantized=any(isinstance(op, Quantize | Cast) for op in plan.graph.ops)) for port in given
        ]
        return [*wrote, f"status = {called(options, 'run')};"]
    (port,) = given
    rows = row_count(port.tensor.shape)
    return [
        f"static {port.ctype} row[{port.tensor.size // rows}];",
        f"for (int n = 0; n < {rows}; n++) {{",
        f"    {_any('row', 'sizeof row')}",
        f"    status = {called(options, 'push', 'row', '1')};",
        "}",
    ]


def _written(port: CPort, *, quantized: bool) -> str:
    """Any input. Of one that becomes an integer NaN is left out: Eva does not know that no comparison with it holds."""
    if quantized and port.tensor.dtype is DType.FLOAT32:
        each = f"for (int n = 0; n < {port.macro}_SIZE; n++) "
        return f"{each}{{ {port.call}[n] = Frama_C_float_interval(-FLT_MAX, FLT_MAX); }}"
    return _any(port.call, f"{port.macro}_BYTES")


def cpu() -> float:
    """Seconds of programs that were run so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _any(address: str, nbytes: str) -> str:
    return f"ANY({address}, {nbytes});"


if __name__ == "__main__":
    main()
