"""The C files of a user's copy of a library: finds those that a function needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_DEFINED = re.compile(r"^(?!static|typedef|#|\s)[A-Za-z_][\w\s*]*?\b(\w+)\s*\([^;{}]*\)\s*\{", re.MULTILINE)
"""Matches function definitions: a type at the beginning of a line, the name, parameters and a brace."""
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


@dataclass(frozen=True)
class LibrarySources:
    """The C files below some folders. Functions and their calls are found in the text, so that added or removed files
    of other versions make no difference."""

    folders: tuple[Path, ...]

    @cached_property
    def _files(self) -> dict[str, Path]:
        """By name of a function: the file that defines it."""
        return {name: path for path in self._texts for name in _DEFINED.findall(self._texts[path])}

    @cached_property
    def _texts(self) -> dict[Path, str]:
        paths = sorted(path for folder in self.folders for path in folder.rglob("*.c"))
        return {path: _COMMENT.sub("", path.read_text(encoding="utf-8", errors="replace")) for path in paths}

    def has(self, function: str) -> bool:
        return function in self._files

    def functions(self, path: Path) -> list[str]:
        """The functions that a file defines."""
        return [name for name, file in self._files.items() if file == path]

    def closure(self, *functions: str) -> list[Path]:
        """The files that define functions and all their callees."""
        reached: dict[Path, None] = {}
        left = [self._files[name] for name in functions]
        while left:
            path = left.pop()
            if path not in reached:
                reached[path] = None
                left += [self._files[name] for name in _CALLED.findall(self._texts[path]) if name in self._files]
        return sorted(reached)
