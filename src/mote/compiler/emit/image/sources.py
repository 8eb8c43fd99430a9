"""The C sources of the runtime, which are part of the Python package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from mote.compiler.emit.image.entries import SETTINGS
from mote.compiler.kernels import library
from mote.compiler.kernels.structs import INCLUDE, closure

_RUNTIME = files("mote.compiler.emit.image") / "runtime"


@cache
def runtime_files() -> dict[str, str]:
    """Sources and headers of the runtime, and the kernel headers that they include; without the settings header, which
    depends on the set of kernels."""
    files = [f for f in _RUNTIME.iterdir() if f.name.endswith((".c", ".h")) and f.name != SETTINGS]
    own = {f.name: f.read_text(encoding="utf-8") for f in sorted(files, key=lambda f: f.name)}
    included = {name for text in own.values() for name in INCLUDE.findall(text)} - own.keys() - {SETTINGS}
    return own | {name: library.header(name) for name in sorted(closure(sorted(included)))}
