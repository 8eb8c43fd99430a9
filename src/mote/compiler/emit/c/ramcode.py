"""Code executed from RAM: the hottest functions get a linker section of their own.

Kernels are static functions in headers of the library. The attribute is inserted into the text of those headers that
take nearly all cycles and of those that they include, and into the model's own functions, into which the C compiler may
inline kernels.
"""

from __future__ import annotations

import re
from collections import Counter

from mote.compiler.emit.c.options import RAMFUNC_SECTION
from mote.compiler.offload.contract import Offloaded
from mote.compiler.plan.plan import Plan

HOT = 0.95
"""Minimum fraction of the model's cost that is executed from RAM."""
MACRO = f"""\
/* Functions that are executed from RAM. The start-up code must copy their section there, as it copies .data; define
 * this before this file is compiled to have them in a section that your linker script has already. */
#ifndef MOTE_RAMFUNC
#if defined(__GNUC__) && defined(__ELF__)
#define MOTE_RAMFUNC __attribute__((section("{RAMFUNC_SECTION}")))
#else
#define MOTE_RAMFUNC
#endif
#endif

"""
_GUARD = re.compile(r"(#define MOTE_COMPILER_H\n\n)")
_NOINLINE = re.compile(r"^(#define MOTE_(?:NOINLINE|ALWAYS_INLINE) .*\bstatic(?: inline)?)\b", re.MULTILINE)


def hot_files(plan: Plan) -> list[str]:
    """The kernel headers with the highest cost, until they cover `HOT` of the model's cost."""
    costs = Counter[tuple[str, ...]]()
    for p in plan.all:
        for _, steps in p.works:
            options = p.choices.get(steps[0].ops, ())
            if not isinstance(steps[0].kernel, Offloaded):
                costs[steps[0].kernel.files] += options[0].cost if options else 1
    hot: list[str] = []
    left = sum(costs.values()) * (1 - HOT)
    for files, cost in reversed(costs.most_common()):
        left -= cost
        if left < 0:
            hot[:0] = files
    return hot


def in_ram(text: str, prefix: str = "(?:mote_|name)") -> str:
    """The text of a C file, with a section attribute added to static functions whose names match `prefix`."""
    function = re.compile(rf"(\bstatic (?:inline )?)(?=[\w# ]+?[ *]+\b{prefix}[\w#]*\()")
    text = function.sub(r"\1MOTE_RAMFUNC ", text)
    text = _NOINLINE.sub(r"\1 MOTE_RAMFUNC", text)
    return _GUARD.sub(lambda guard: guard[1] + MACRO, text)
