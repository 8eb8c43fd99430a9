"""The energy model of a target: static power, and energy by kind of work, fitted to power measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from mote.hardware.targets.values import bad, check_keys, cut

CLASSES = ("multiply", "memory", "other", "wait", "flash_byte")
"""The kinds of work: cycles of multiplications, of loads and stores, of other instructions, of waiting for flash, and
bytes read from flash."""
_MOST = {"static_mw": 1e6, **{f"{name}_pj": 1e9 for name in CLASSES}, "error": 1e3}
"""Keys with numbers from 0, and their maximum."""
_KEYS = (*_MOST, "source")


@dataclass(frozen=True)
class EnergyModel:
    """Energy = static power x time + energy of each kind of work."""

    static_mw: float = 0.0
    """Static power in milliwatts, independent of the work."""
    multiply_pj: float = 0.0
    """Picojoules for each cycle of multiplications."""
    memory_pj: float = 0.0
    """Picojoules for each cycle of loads and stores."""
    other_pj: float = 0.0
    """Picojoules for each cycle of other instructions."""
    wait_pj: float = 0.0
    """Picojoules for each cycle of waiting for flash."""
    flash_byte_pj: float = 0.0
    """Picojoules for each byte read from flash."""
    error: float = 0.0
    """Mean relative error in leave-one-out cross-validation over layers."""
    source: str = ""
    """The measurements that it was fitted to."""

    def microjoules(self, work: Mapping[str, float], seconds: float) -> float:
        """Energy in microjoules of an amount of work of each kind (a key of CLASSES) that takes `seconds`."""
        dynamic: float = sum(getattr(self, f"{name}_pj") * work.get(name, 0.0) for name in CLASSES)
        return 1e3 * self.static_mw * seconds + 1e-6 * dynamic


def read_energy(path: Path, keys: Any) -> EnergyModel | None:
    """Read the table `[energy]` of a target file; None: it has none."""
    if keys is None:
        return None
    check_keys(path, "energy", keys, _KEYS)
    for key, value in keys.items():
        if key == "source" and not (isinstance(value, str) and value.isprintable()):
            raise bad(path, f"in [energy]: 'source' must be a string that can be printed, not {cut(value)}")
        if key in _MOST and not _is_amount(value, _MOST[key]):
            raise bad(path, f"in [energy]: '{key}' must be a number from 0 to {_MOST[key]:g}, not {cut(value)}")
    model = EnergyModel(**keys)
    if not model.static_mw and not any(getattr(model, f"{name}_pj") for name in CLASSES):
        raise bad(path, "in [energy]: nothing takes energy", "state static_mw, or picojoules of a kind of work")
    return model


def _is_amount(value: object, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and 0 <= value <= most
