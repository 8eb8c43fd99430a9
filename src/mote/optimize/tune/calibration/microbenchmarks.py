"""Generates small C programs whose cycles reveal wait states, size and number of cache lines, and prefetch.

Each program is one step of a firmware that runs like a model: in an emulator, or on a board with an agent. Functions
and tables are aligned to `ALIGNMENT` bytes, so that they meet cache lines equally wherever the firmware is linked. Each
is executed for the first time in its step, so that caches are cold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mote.base.errors import MoteError
from mote.compiler.firmware import Firmware, ModelExtent
from mote.hardware.cores import ARCHITECTURES
from mote.hardware.targets import Target

ALIGNMENT = 256
WORD = 4
SOURCE = "microbenchmarks.c"
FAMILIES = {
    "hops": "jumps to places at a distance",
    "straight": "code without jumps",
    "loops": "code that is executed again",
    "loads": "loads of constants at a distance",
    "passes": "constants that are loaded again",
    "both": "code between two loads of the same constants",
}


@dataclass(frozen=True)
class Microbenchmark:
    """A microbenchmark: `count` places at a distance of `stride` bytes, executed or loaded `times` times."""

    family: str
    stride: int
    count: int
    times: int = 1

    @property
    def name(self) -> str:
        return f"{self.family}_{self.stride}_{self.count}_{self.times}"

    @property
    def nbytes(self) -> int:
        """Approximate flash bytes of its code or table."""
        return self.stride * self.count * (2 if self.family == "both" else 1)


WARM_UP = Microbenchmark("warm", 4, 2, 2)
"""Program that only warms up the shared code, which stays cached for the following ones."""


def first_microbenchmarks() -> list[Microbenchmark]:
    """Programs that reveal wait states, line size and prefetch."""
    strides = (4, 8, 16, 32, 64, 128)
    hops = [Microbenchmark("hops", stride, 96) for stride in strides]
    loads = [Microbenchmark("loads", stride, 96) for stride in strides]
    return [WARM_UP, *hops, Microbenchmark("straight", 2, 512), Microbenchmark("straight", 2, 1024), *loads]


def line_microbenchmarks(code_line: int, data_line: int, most: int) -> list[Microbenchmark]:
    """Programs that reveal the number of cached lines, given the line sizes; each takes at most `most` bytes of
    flash."""
    counts = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072]
    loops = [Microbenchmark("loops", code_line, n, 2) for n in counts if n * code_line <= most]
    passes = [Microbenchmark("passes", data_line, n, 2) for n in counts if n * data_line <= most]
    larger = max(code_line, data_line)
    both = [Microbenchmark("both", larger, n) for n in counts if 2 * n * larger <= most]
    return [WARM_UP, *loops, *passes, *both]


def firmware_of(programs: Sequence[Microbenchmark], target: Target) -> Firmware:
    """A firmware with a step per program."""
    jump = target.core.jump
    if not jump:
        raise MoteError(
            f"there are no microbenchmarks for {target.core.title}",
            where=f"target {target.name}",
            remedy=f"calibrate a part with one of: {', '.join(c.title for c in ARCHITECTURES.values() if c.jump)}",
        )
    return Firmware(
        {SOURCE: source(programs, jump)},
        (SOURCE,),
        target,
        "balanced",
        len(programs),
        lambda mode: glue(len(programs)),
        extent=ModelExtent((WORD,), len(programs), WORD * len(programs), len(programs)),
    )


def source(programs: Sequence[Microbenchmark], jump: str) -> str:
    """C source of all programs and of the function that runs them."""
    steps = "".join(
        f"    {call}\n    MOTE_TRACE({n}, &sum, sizeof sum);\n" for n, call in enumerate(map(_call, programs))
    )
    return f"""#include <stddef.h>
#include <stdint.h>

#define AT_LINE __attribute__((noinline, aligned({ALIGNMENT})))
uint32_t microbenchmarks_run(void);

static AT_LINE uint32_t loaded(const volatile uint32_t *from, uint32_t words, uint32_t count, uint32_t times) {{
    uint32_t sum = 0;
    for (uint32_t n = 0; n < times; ++n) {{
        const volatile uint32_t *at = from;
        for (uint32_t k = 0; k < count; ++k, at += words) sum += *at;
    }}
    return sum;
}}

static AT_LINE void called(void (*code)(void), uint32_t times) {{
    for (uint32_t n = 0; n < times; ++n) code();
}}

{"".join(_definitions(program, jump) for program in programs)}
uint32_t microbenchmarks_run(void) {{
    uint32_t sum = 0;
{steps}    return sum;
}}
"""


def _definitions(program: Microbenchmark, jump: str) -> str:
    """C definitions of a program: its function, its table, or both."""
    name, text = program.name, ""
    if program.family in ("loads", "passes", "both", "warm"):
        words = max(program.stride // WORD * program.count, 1)
        text += f"static const uint32_t __attribute__((aligned({ALIGNMENT}))) table_{name}[{words}] = {{1}};\n"
    if program.family in ("hops", "loops", "both", "warm"):
        hop = f"{jump} 1f\\n.balign {program.stride}\\n1:\\n"
        text += _function(name, f".rept {program.count}\\n{hop}.endr\\n")
    if program.family == "straight":
        text += _function(name, f".rept {program.count}\\nnop\\n.endr\\n")
    return text


def _function(name: str, code: str) -> str:
    return f'static AT_LINE void code_{name}(void) {{ __asm__ volatile("{code}"); }}\n'


def _call(program: Microbenchmark) -> str:
    """C statement that runs a program."""
    name = program.name
    load = f"sum += loaded(table_{name}, {program.stride // WORD}u, {program.count}u, {program.times}u);"
    run = f"called(code_{name}, {program.times}u);"
    if program.family in ("both", "warm"):
        return f"{load} {run} {load}"
    return load if program.family in ("loads", "passes") else run


def glue(steps: int) -> str:
    """C glue to the test harness (and agent): no inputs, one word of output."""
    return f"""#include "harness.h"
uint32_t microbenchmarks_run(void);
static uint32_t result;
const uint32_t harness_input_count = 0, harness_output_count = 1, harness_step_count = {steps};
void *harness_input(uint32_t i) {{ (void)i; return 0; }}
size_t harness_input_bytes(uint32_t i) {{ (void)i; return 0; }}
const void *harness_output(uint32_t i) {{ (void)i; return &result; }}
size_t harness_output_bytes(uint32_t i) {{ (void)i; return sizeof result; }}
int harness_init(void) {{ return 0; }}
int harness_check(void) {{ return 0; }}
int harness_run(void) {{ result = microbenchmarks_run(); return 0; }}
"""
