"""Modules that are imported at the first access to one of their attributes, because few runs need them.

if TYPE_CHECKING:
    from mote.wing.room import module
else:
    module = deferred(...)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def deferred(name: str) -> Any:
    """A stand-in for a module."""
    return _DeferredModule(name)


class _DeferredModule:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)
