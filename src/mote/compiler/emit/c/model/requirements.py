"""Compile-time checks in `<name>.c`: a C compiler without the flags for the model's core, or whose objects cannot be
large enough, gets an error with a remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mote.base.text import printable
from mote.compiler.emit.c.c import Definition, Text
from mote.compiler.emit.c.model.arenas import arenas
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.emit.c.values import ConstantPool
from mote.compiler.plan.plan import Plan
from mote.ir.graph.tolerance import computes_floats

MOST_SMALL = 32767
"""Maximum bytes of an object with any C compiler."""
INSTRUCTIONS = {
    "armv7m": ("!defined(__thumb2__)", "the instructions of Armv7-M"),
    "dsp": ("!defined(__ARM_FEATURE_DSP)", "DSP instructions"),
    "mve": ("!defined(__ARM_FEATURE_MVE)", "Helium"),
    "fpu": ("!defined(__ARM_FP) || !(__ARM_FP & 4)", "the FPU"),
}
"""By feature of Cortex-M: the preprocessor condition that the C compiler does not use it, and its name in the error."""
RISCV_INSTRUCTIONS = {"zve32x": ("!defined(__riscv_v_min_vlen)", "vectors of 128 bits")}
"""By feature of RISC-V: the preprocessor condition that the C compiler does not use it, and its name in the error."""


def requirements(plan: Plan, options: ProjectOptions, pool: ConstantPool) -> list[Definition]:
    """The compile-time checks that a model needs."""
    return [*_instructions(plan, options), *_objects(plan, options, pool)]


def _instructions(plan: Plan, options: ProjectOptions) -> Iterator[Definition]:
    """Checks of compiler flags: tuned kernels have portable fallbacks, so that wrong flags would only show in the
    speed."""
    used = {feature for p in plan.all for step in p.steps for feature in step.kernel.isa}
    used |= {"fpu"} if computes_floats(plan.graph) else set()

    def checked(known: Mapping[str, tuple[str, str]]) -> str:
        return "\n".join(
            f'#if {missing}\n#error "{_error_text(options, what)}"\n#endif'
            for feature, (missing, what) in known.items()
            if feature in used & plan.how.features
        )

    if checks := checked(RISCV_INSTRUCTIONS):
        yield Text(f"""\
/* Built without these instructions the model would be right, and slow. */
#if defined(__riscv) && !defined(MOTE_PORTABLE)
{checks}
#endif
""")
    if checks := checked(INSTRUCTIONS):
        yield Text(f"""\
/* Built without these instructions the model would be right, and slow. */
#if defined(__ARM_ARCH_PROFILE) && !defined(MOTE_PORTABLE)
#if __ARM_ARCH_PROFILE == 'M'
{checks}
#endif
#endif
""")


def _error_text(options: ProjectOptions, what: str) -> str:
    flags = " ".join(flag for flag in options.core_flags if flag.startswith("-m"))
    text = (
        f"{options.name} is for {options.target} and uses {what}, which the C compiler is not told of:"
        f" compile it with {flags or 'the flags of that core'}, or make it for your core with mote compile --target, or"
        " define MOTE_PORTABLE for plain C"
    )
    return printable(text).replace("\\", "/").replace('"', "'")


def _objects(plan: Plan, options: ProjectOptions, pool: ConstantPool) -> Iterator[Definition]:
    """A check that the C compiler takes objects as large as the largest arena or constant: 16-bit cores do not."""
    largest = max([array.nbytes for array in pool.arrays] + [a.nbytes for a in arenas(plan)], default=0)
    if largest > MOST_SMALL:
        yield Text(f"""\
#if defined(SIZE_MAX) && SIZE_MAX / 2 < {largest}
#error "{options.name} has an object of {largest} bytes, more than this core can address: use a smaller model"
#endif
""")
