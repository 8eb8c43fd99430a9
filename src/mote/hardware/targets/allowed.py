"""Compiler options that untrusted target files may use: those that choose a core, its instruction set and its ABI.

Other options can make a compiler run programs, or read and write files; users allow them with `--trust-target`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mote.hardware.cores import ARCHITECTURES

_OWN = tuple(option for core in ARCHITECTURES.values() for option in core.options)
VALUED = (
    *("-mcpu", "-march", "-mtune", "-mabi", "-mcmodel"),
    *(option.removesuffix("=") for option in _OWN if option.endswith("=")),
)
"""Options with `=` and a value of letters, digits and `_ . + -`."""
PLAIN = (
    *(option for option in _OWN if not option.endswith("=")),
    *("-fno-tree-vectorize", "-fno-tree-slp-vectorize", "-fno-jump-tables", "-fno-unroll-loops"),
    *("-fshort-enums", "-fno-short-enums", "-funsigned-char", "-fsigned-char", "-fno-strict-aliasing"),
)
"""Options without a value."""
FOLLOWED = ("-target",)
"""Options whose value is the next argument."""

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", re.ASCII)


def not_allowed(flags: Sequence[str]) -> str | None:
    """The first option that an untrusted file must not use; None: all are allowed."""
    rest = iter(flags)
    for flag in rest:
        name, _, value = flag.partition("=")
        if flag in FOLLOWED:
            value = next(rest, "")
        elif flag in PLAIN:
            continue
        elif name not in VALUED:
            return flag
        if not _WORD.fullmatch(value):
            return f"{flag} {value}" if flag in FOLLOWED else flag
    return None
