"""Compiles models and prints digests of what is written; `narrow`: with a NumPy whose default integers have 32 bits.

Where pointers have 32 bits, what NumPy makes from Python's numbers, its indices and its sums of small integers have 32
too, unless a type is named. Where results of these functions have 64 bits although nothing that they were given has,
they are cut to 32 here, as they would be there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

INDICES = ("argsort", "flatnonzero", "nonzero", "searchsorted", "argwhere")
"""Functions whose results are the platform's integers whatever they are given."""
MADE = ("arange", "array", "asarray", "full", "where", "cumsum", "cumprod", "unique")
REDUCED = ("umr_sum", "umr_prod")
"""What the methods of arrays call."""


def _wide(given: Any) -> bool:
    """Whether something of 64 bits is among what is given."""
    if isinstance(given, list | tuple):
        return any(map(_wide, given))
    if isinstance(given, np.ndarray | np.generic):
        return given.dtype.itemsize > 4 and given.dtype.kind in "iu"
    return given in (np.int64, np.uint64, np.dtype(np.int64)) if isinstance(given, type | np.dtype) else False


def _cut(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(map(_cut, result))
    if not isinstance(result, np.ndarray) or result.dtype != np.int64:
        return result
    least, most = (int(result.min()), int(result.max())) if result.size else (0, 0)
    return result.astype(np.int32) if least >= -(1 << 31) and most < 1 << 31 else result


def _narrow(function: Callable[..., Any], always: bool) -> Callable[..., Any]:
    @wraps(function)
    def narrow(*given: Any, **options: Any) -> Any:
        result = function(*given, **options)
        return result if not always and _wide([*given, *options.values()]) else _cut(result)

    return narrow


def _reduced(reduce: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(reduce)
    def narrow(values: Any, axis: Any = None, dtype: Any = None, *rest: Any, **options: Any) -> Any:
        small = isinstance(values, np.ndarray) and values.dtype.kind in "bi" and values.dtype.itemsize <= 4
        return reduce(values, axis, np.int32 if dtype is None and small else dtype, *rest, **options)

    return narrow


def narrow_integers() -> None:
    """From here on NumPy counts in 32 bits."""
    core = getattr(np, "_core", None) or np.core
    for name in (*INDICES, *MADE):
        setattr(np, name, _narrow(getattr(np, name), name in INDICES))
    for name in REDUCED:
        setattr(core._methods, name, _reduced(getattr(core._methods, name)))


def digests(cases: list[str]) -> list[str]:
    """Of what is written for each case: a model's file, a target and what is optimized."""
    import mote

    told = []
    for case in cases:
        model, target, optimize = case.split(",")
        with TemporaryDirectory() as folder:
            mote.compile(model, target=target, optimize=optimize).write(folder)
            written = sorted(path for path in Path(folder).rglob("*") if path.is_file())
            told.append(f"{case} {sha256(b''.join(path.read_bytes() for path in written)).hexdigest()}")
    return told


if __name__ == "__main__":
    if sys.argv[1] == "narrow":
        narrow_integers()
    print(*digests(sys.argv[2:]), sep="\n")
