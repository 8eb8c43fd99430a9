"""Stages of a compilation, and sessions that keep their results by the contents of all that these depend on."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from mote.base.cache import PLANS, CacheFolder, is_off, root
from mote.base.files import read_file
from mote.compiler.kernels.catalogue import KERNELS
from mote.compiler.kernels.library import added_texts
from mote.compiler.plan.json_codec import SerialError
from mote.frontends.data.dataset_type import Dataset
from mote.frontends.features.steps import STEPS
from mote.ir.ops.control.custom import DEFINITIONS
from mote.version import __version__

KEPT = 4
"""Results of a stage that a session keeps in memory."""
SOURCES = (".py", ".toml", ".json", ".h")
"""Files of Mote on which results depend."""
PACKAGE = "mote"
Made = TypeVar("Made")


@dataclass(frozen=True)
class CompilerStage(Generic[Made]):
    """A step of a compilation: a function of inputs, and of the options that it names, which are all that it gets."""

    name: str
    function: Callable[..., Made]
    options: tuple[str, ...] = ()
    """Names of the options that it reads: keywords of the function."""
    files: tuple[str, ...] = ()
    """Those that name files, whose contents count."""
    key: Callable[..., str | None] | None = None
    """A digest of inputs; None where their contents cannot be told, so that the result is not kept."""
    writes: Callable[[Made], str | None] | None = None
    """The text of a result, for the disk; None where it has none."""
    reads: Callable[[str], Made] | None = None
    """The result from its text; a SerialError where it is none."""
    part: str = PLANS
    """The folder of the cache that has them."""


@dataclass
class CompilerSession:
    """Results of stages: those of each that were used last, and on disk those that can be written."""

    disk: bool = False
    """Whether results are kept in the cache folder, unless `MOTE_CACHE` says off."""
    _known: dict[str, OrderedDict[Hashable, Any]] = field(default_factory=dict, repr=False)
    _lock: Any = field(default_factory=Lock, repr=False)

    def result(self, stage: CompilerStage[Made], *inputs: Any, settings: Any = None, **aside: Any) -> Made:
        """The result of a stage for inputs and settings. `aside`: keywords that do not change it, such as callbacks."""
        options = {name: getattr(settings, name) for name in stage.options}
        own = {name: _file(value) if name in stage.files else contents(value) for name, value in options.items()}
        digest = None if stage.key is None else stage.key(*inputs)
        if stage.key is not None and digest is None:
            return stage.function(*inputs, **options, **aside)
        key = contents(inputs) if digest is None else digest, tuple(own.items()), registered()
        with self._lock:
            known = self._known.setdefault(stage.name, OrderedDict())
            if key in known:
                known.move_to_end(key)
                result: Made = known[key]
                return result
        made = self._kept(stage, digest, lambda: stage.function(*inputs, **options, **aside))
        with self._lock:
            known[key] = made
            while len(known) > KEPT:
                known.popitem(last=False)
        return made

    def read_or_made(self, stage: CompilerStage[Made], *inputs: Any, **aside: Any) -> Made:
        """The result of a stage without options that is on disk, or else one that is made: memory holds none of it."""
        digest = None if stage.key is None else stage.key(*inputs)
        return self._kept(stage, digest, lambda: stage.function(*inputs, **aside))

    def _kept(self, stage: CompilerStage[Made], digest: str | None, make: Callable[[], Made]) -> Made:
        """The result that is on disk, or else one that is made and kept there. What depends on operators, kernels and
        steps of users is not: their Python code has no digest."""
        off = not self.disk or is_off() or is_extended()
        if off or digest is None or stage.writes is None or stage.reads is None:
            return make()
        folder = CacheFolder(root() / stage.part)
        name = sha256(f"{version()} {stage.name} {digest}".encode()).hexdigest()
        if (kept := folder.read(name)) is not None:
            with suppress(SerialError, UnicodeDecodeError):
                return stage.reads(kept.decode())
        made = make()
        if (text := stage.writes(made)) is not None:
            folder.write(name, text.encode())
        return made


def contents(value: Any) -> Hashable:
    """The contents of a value, as a key. Graphs are known by themselves: they do not change."""
    if isinstance(value, Dataset):
        return value.digest()
    if isinstance(value, Mapping):
        return tuple(sorted((name, contents(one)) for name, one in value.items()))
    if isinstance(value, tuple | list):
        return tuple(map(contents, value))
    own: Hashable = value
    return own


def _file(path: str) -> str:
    """A digest of what is in a file; empty where none is named."""
    return sha256(read_file(path)).hexdigest() if path else ""


def registered() -> Hashable:
    """All operators and preprocessing steps that there are, and kernels where users have changed them."""
    return tuple(DEFINITIONS.items()), tuple(STEPS.items()), KERNELS.changed, added_texts()


def is_extended() -> bool:
    """Whether there are operators, kernels or preprocessing steps of users: those in C have a text."""
    return bool(added_texts()) or any(step.__module__.partition(".")[0] != PACKAGE for step in STEPS.values())


@cache
def version() -> str:
    """The version of Mote, with the sizes and times of its own files: results of other sources are not taken."""
    stamps = sorted(_stamps(Path(__file__).parents[1]))
    return f"{__version__} {sha256(repr(stamps).encode()).hexdigest()}"


def _stamps(folder: Path, within: str = "") -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            name = f"{within}/{entry.name}"
            if entry.is_dir() and entry.name != "__pycache__":
                yield from _stamps(folder / entry.name, name)
            elif entry.name.endswith(SOURCES):
                about = entry.stat()
                yield name, about.st_size, about.st_mtime_ns


_sessions = [CompilerSession(disk=True)]


def session() -> CompilerSession:
    """The session of compilations that begin now."""
    return _sessions[-1]


@contextmanager
def using(one: CompilerSession) -> Iterator[CompilerSession]:
    """Compilations in the block keep their results in this session, and know no others."""
    _sessions.append(one)
    try:
        yield one
    finally:
        _sessions.remove(one)
