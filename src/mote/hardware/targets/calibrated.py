"""The record of a calibration in a target file: what was measured, and the remaining errors."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from mote.base.text import printable
from mote.hardware.targets.values import bad, check_keys, cut

_ERRORS = ("memory_error", "cost_error")
_KEYS = ("measured", *_ERRORS, "errors")


@dataclass(frozen=True)
class Calibrated:
    """The record of a calibration; errors are mean relative errors."""

    measured: str = ""
    """The board, and how many programs and layers it ran."""
    memory_error: float | None = None
    """Error of the memory timing."""
    cost_error: float | None = None
    """Error of the cost table."""
    errors: tuple[tuple[str, float], ...] = ()
    """Errors by groups of programs and kernels."""


def read_calibrated(path: Path, keys: Any) -> Calibrated | None:
    """Read the table `[calibration]` of a target file; None: it has none."""
    if keys is None:
        return None
    check_keys(path, "calibration", keys, _KEYS)
    measured, errors = keys.get("measured", ""), keys.get("errors", {})
    if not isinstance(measured, str) or not measured.isprintable():
        raise bad(path, f"in [calibration]: 'measured' must be a string that can be printed, not {cut(measured)}")
    if not isinstance(errors, dict):
        raise bad(path, "in [calibration]: 'errors' must be a table: [calibration.errors]")
    for name, value in (*((key, keys[key]) for key in _ERRORS if key in keys), *errors.items()):
        if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value) or value < 0:
            raise bad(path, f"in [calibration]: '{printable(name)}' must be a number from 0 on, not {cut(value)}")
    return Calibrated(measured, keys.get("memory_error"), keys.get("cost_error"), tuple(errors.items()))
