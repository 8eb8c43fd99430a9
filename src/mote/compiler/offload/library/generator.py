"""A backend whose library is on the user's disk, in a folder that an environment variable names."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable
from hashlib import sha256
from pathlib import Path

from mote.compiler.offload.contract import Generator, Missing
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op


class LibraryGenerator(Generator):
    """Computes single operators, each by a function of a library."""

    operators: Collection[type[Op]]
    """The exact classes of operators with functions in the library; subclasses may compute something else."""
    remedy: str
    """Remedy for a missing library: how to get it."""

    @abstractmethod
    def checkout(self) -> Path:
        """The folder of the library; raises FileNotFoundError, whose message says what is missing."""

    def missing(self) -> Missing | None:
        try:
            self.checkout()
        except FileNotFoundError as reason:
            return Missing(str(reason), self.remedy)
        return None

    def claims(self, graph: Graph, target: Target) -> Iterable[Op]:
        return (op for op in graph.ops if type(op) in self.operators)


def folders_key(*folders: Path) -> str:
    """A key for the C files in folders: names, sizes and times, as reading all contents for every layer would take too
    long."""
    paths = sorted(path for folder in folders for path in folder.rglob("*.[ch]"))
    state = sha256()
    for path, about in ((path, path.stat()) for path in paths):
        state.update(f"{path}\0{about.st_size}\0{about.st_mtime_ns}\0".encode())
    return state.hexdigest()


def given_folder(given: str | None, variable: str, header: str) -> Path | None:
    """The folder of a library that an environment variable names; None if it is not set. Raises FileNotFoundError if
    the library's header is not in it."""
    if not given:
        return None
    root = Path(given).resolve()
    if not (root / header).is_file():
        raise FileNotFoundError(f"{variable} is {given}, which has no {header}")
    return root
