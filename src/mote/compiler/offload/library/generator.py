"""A backend whose library lies on the user's disk, in a folder that a variable of the environment names."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable
from hashlib import sha256
from pathlib import Path

from mote.compiler.offload.contract import Generator, Missing
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op


class LibraryGenerator(Generator):
    """Single operators, each by a function of a library."""

    operators: Collection[type[Op]]
    """The classes of operators that it has functions for; a subclass of one may compute something else."""
    remedy: str
    """How to get the library."""

    @abstractmethod
    def checkout(self) -> Path:
        """The folder of the library. Raises FileNotFoundError, which says what is not there."""

    def missing(self) -> Missing | None:
        try:
            self.checkout()
        except FileNotFoundError as reason:
            return Missing(str(reason), self.remedy)
        return None

    def claims(self, graph: Graph, target: Target) -> Iterable[Op]:
        return (op for op in graph.ops if type(op) in self.operators)


def folders_key(*folders: Path) -> str:
    """The C files in folders as a key: names, sizes and times, for a library has more files than can be read for every
    layer."""
    paths = sorted(path for folder in folders for path in folder.rglob("*.[ch]"))
    state = sha256()
    for path, about in ((path, path.stat()) for path in paths):
        state.update(f"{path}\0{about.st_size}\0{about.st_mtime_ns}\0".encode())
    return state.hexdigest()


def given_folder(given: str | None, variable: str, header: str) -> Path | None:
    """The folder of a library that a variable of the environment gives; None where it is not set. Raises
    FileNotFoundError where the library's header is not in it."""
    if not given:
        return None
    root = Path(given).resolve()
    if not (root / header).is_file():
        raise FileNotFoundError(f"{variable} is {given}, which has no {header}")
    return root
