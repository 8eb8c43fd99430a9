"""Compilation stages, and sessions that cache their results, keyed by the contents of all inputs."""

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
"""Results per stage that a session keeps in memory."""
SOURCES = (".py", ".toml", ".json", ".h")
"""Suffixes of Mote's own files that cached results depend on."""
PACKAGE = "mote"
Result = TypeVar("Result")


@dataclass(frozen=True)
class CompilerStage(Generic[Result]):
    """A stage of the compilation: a function of its inputs and of the options that it names, which are all that it
    gets."""

    name: str
    function: Callable[..., Result]
    options: tuple[str, ...] = ()
    """Names of the options that the function takes as keywords."""
    files: tuple[str, ...] = ()
    """Names of options whose values are file names: the contents of the file are part of the cache key."""
    key: Callable[..., str | None] | None = None
    """Computes a digest of the inputs; None if they have none, so that the result is not cached."""
    writes: Callable[[Result], str | None] | None = None
    """Serializes a result for the disk cache; None if it cannot be serialized."""
    reads: Callable[[str], Result] | None = None
    """Deserializes a result; raises SerialError for text that is none."""
    part: str = PLANS
    """Subfolder of the cache that stores the results."""


@dataclass
class CompilerSession:
    """A cache of stage results: the last ones of each stage in memory, and those that can be serialized on disk."""

    disk: bool = False
    """Whether results are cached on disk too, unless `MOTE_CACHE=off`."""
    _known: dict[str, OrderedDict[Hashable, Any]] = field(default_factory=dict, repr=False)
    _lock: Any = field(default_factory=Lock, repr=False)

    def result(self, stage: CompilerStage[Result], *inputs: Any, settings: Any = None, **aside: Any) -> Result:
        """The result of a stage, computed or cached. `aside`: keywords that do not change the result, such as
        callbacks."""
        options = {name: getattr(settings, name) for name in stage.options}
        own = {name: _file_digest(value) if name in stage.files else contents(value) for name, value in options.items()}
        digest = None if stage.key is None else stage.key(*inputs)
        if stage.key is not None and digest is None:
            return stage.function(*inputs, **options, **aside)
        key = contents(inputs) if digest is None else digest, tuple(own.items()), registered()
        with self._lock:
            known = self._known.setdefault(stage.name, OrderedDict())
            if key in known:
                known.move_to_end(key)
                result: Result = known[key]
                return result
        made = self._kept(stage, digest, lambda: stage.function(*inputs, **options, **aside))
        with self._lock:
            known[key] = made
            while len(known) > KEPT:
                known.popitem(last=False)
        return made

    def read_or_made(self, stage: CompilerStage[Result], *inputs: Any, **aside: Any) -> Result:
        """The result of a stage without options, from the disk cache or computed; it is not kept in memory."""
        digest = None if stage.key is None else stage.key(*inputs)
        return self._kept(stage, digest, lambda: stage.function(*inputs, **aside))

    def _kept(self, stage: CompilerStage[Result], digest: str | None, make: Callable[[], Result]) -> Result:
        """The result from the disk cache, or computed by `make` and cached on disk. Nothing is cached if users have
        registered operators, kernels or preprocessing steps, as their Python code has no digest."""
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
    """A hashable key for the contents of a value. Graphs are immutable, and are compared by identity."""
    if isinstance(value, Dataset):
        return value.digest()
    if isinstance(value, Mapping):
        return tuple(sorted((name, contents(one)) for name, one in value.items()))
    if isinstance(value, tuple | list):
        return tuple(map(contents, value))
    own: Hashable = value
    return own


def _file_digest(path: str) -> str:
    """The SHA-256 of a file's contents; empty for an empty path."""
    return sha256(read_file(path)).hexdigest() if path else ""


def registered() -> Hashable:
    """All registered operators and preprocessing steps, and kernels if users changed them, as part of cache keys."""
    return tuple(DEFINITIONS.items()), tuple(STEPS.items()), KERNELS.changed, added_texts()


def is_extended() -> bool:
    """Whether users have registered operators, kernels or preprocessing steps: those in C have a text."""
    return bool(added_texts()) or any(step.__module__.partition(".")[0] != PACKAGE for step in STEPS.values())


@cache
def version() -> str:
    """The version of Mote with sizes and times of its own files, so that results of other sources are not reused."""
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
    """The session that new compilations use."""
    return _sessions[-1]


@contextmanager
def using(one: CompilerSession) -> Iterator[CompilerSession]:
    """Makes compilations in the block use a session other than the default one."""
    _sessions.append(one)
    try:
        yield one
    finally:
        _sessions.remove(one)
