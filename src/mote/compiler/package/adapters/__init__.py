"""Adapters of the runtime and of compiled models to operating systems: C files. The packager of Zephyr adds Kconfig
options for its adapter.

`common/` runs a model in a thread of its own; the folder of an operating system implements the threads and queues for
it. The model is called through `mote_serviced.h`: the one in `runtime/` is for images, the one in `compiled/` for
compiled models. `turns/` runs a compiled model in a main loop. `psa` is a verifier for updates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from mote.base.errors import MoteError
from mote.base.text import did_you_mean
from mote.compiler.emit.licence import licensed

_HERE = Path(__file__).parent
_COMMON = "common"
_BARE = "bare-metal"
NAMES = (_BARE, "cmsis-rtos2", "freertos", "zephyr", "psa")
"""The available adapters of the runtime."""
COMPILED_NAMES = NAMES[:-1]
"""The available adapters of compiled models."""
_WITHOUT_THREADS = (_BARE, "psa")


def adapters_files(names: Sequence[str]) -> dict[str, str]:
    """The files of several adapters, of which at most one is for an operating system."""
    systems = sorted({name for name in names if name in NAMES and name not in _WITHOUT_THREADS})
    if len(systems) > 1:
        raise MoteError(
            f"{' and '.join(systems)} have files of the same names", remedy="write a folder for each of them"
        )
    return {path: text for name in names for path, text in adapter_files(name).items()}


def adapter_files(name: str) -> dict[str, str]:
    """The files of an adapter of the runtime, by file name."""
    _check_name(name, NAMES)
    return _texts([name] if name in _WITHOUT_THREADS else [_COMMON, "runtime", name])


def compiled_adapter_files(name: str) -> dict[str, str]:
    """The files of an adapter of compiled models, without those for a particular model."""
    _check_name(name, COMPILED_NAMES)
    texts = _texts((_COMMON, "turns" if name == _BARE else name, "compiled"))
    threads = ("mote_service.h", "mote_service.c")
    return {file: text for file, text in texts.items() if name != _BARE or file not in threads}


def _check_name(name: str, names: Sequence[str]) -> None:
    if name not in names:
        guess = did_you_mean(name, names)
        raise MoteError(
            f"there is no adapter '{name}'", where="option adapter", remedy=f"{guess}use one of: {', '.join(names)}"
        )


def _texts(folders: Iterable[str]) -> dict[str, str]:
    """The files in some folders, by name, with the licence line."""
    paths = [path for folder in folders for path in sorted((_HERE / folder).iterdir()) if path.is_file()]
    return {path.name: licensed(path.read_text(encoding="utf-8")) for path in paths}
