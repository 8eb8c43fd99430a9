"""Adapters of the runtime to operating systems: C files. The packager of Zephyr makes options of Kconfig for its own.

`common/` is a model in a thread of its own; the folder of an operating system has what that takes from it. `psa` is a
verifier for updates.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mote.emit.licence import licensed
from mote.errors import MoteError
from mote.text import did_you_mean

_HERE = Path(__file__).parent
_COMMON = "common"
NAMES = ("bare-metal", "cmsis-rtos2", "freertos", "zephyr", "psa")
"""The available adapters."""
_WITHOUT_THREADS = ("bare-metal", "psa")


def adapters_files(names: Sequence[str]) -> dict[str, str]:
    """The files of several adapters, at most one of which is for an operating system."""
    systems = sorted({name for name in names if name in NAMES and name not in _WITHOUT_THREADS})
    if len(systems) > 1:
        raise MoteError(
            f"{' and '.join(systems)} have files of the same names", remedy="write a folder for each of them"
        )
    return {path: text for name in names for path, text in adapter_files(name).items()}


def adapter_files(name: str) -> dict[str, str]:
    """The files of an adapter, by path in a runtime's folder."""
    if name not in NAMES:
        guess = did_you_mean(name, NAMES)
        raise MoteError(f"there is no adapter '{name}'", remedy=f"{guess}use one of: {', '.join(NAMES)}")
    folders = [name] if name in _WITHOUT_THREADS else [_COMMON, name]
    paths = [path for folder in folders for path in sorted((_HERE / folder).iterdir()) if path.is_file()]
    return {path.name: licensed(path.read_text(encoding="utf-8")) for path in paths}
