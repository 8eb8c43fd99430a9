"""The container of a `.pt2` file: a ZIP with the program as JSON, and the weights as they lie in memory.

Mote opens it by itself. `torch.export.load` would run what a file tells it to run, in several places: weights,
constants and sample inputs may be pickles, sizes are expressions that are evaluated, names of operators are looked up
anywhere in the package, and compiled libraries are loaded. Here a pickle is refused, sample inputs and libraries are
left alone, and everything else is data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile

from mote.base.documents import DocumentError, parse_json
from mote.base.errors import MoteError, TooLargeError

SCHEMA = 8
"""The schema version of the program, which changes where older readers would misinterpret it."""
MOST_BYTES = 1 << 30
"""Size limit of all weights together."""
MOST_NESTED = 256
"""Depth limit of the program: branches and loops have programs inside."""
SAVE_AGAIN = "export the module again with a current PyTorch: torch.export.save(torch.export.export(module, inputs))"
PLAIN_WEIGHTS = "export the module with plain tensors as parameters, buffers and constants"


class MalformedArchiveError(Exception):
    """A malformed file."""


@dataclass(frozen=True)
class Stored:
    """A weight, a buffer or a constant tensor: its metadata in the file, and its bytes."""

    meta: Mapping[str, Any]
    data: bytes


@dataclass(frozen=True)
class Archive:
    """The content of a file."""

    program: Mapping[str, Any]
    weights: Mapping[str, Stored]
    constants: Mapping[str, Stored]


def opened(data: bytes) -> Archive:
    """Open a file, without running anything in it."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            return _content(archive)
    except (BadZipFile, EOFError, NotImplementedError, OSError, RuntimeError) as error:
        raise MoteError(f"the file is damaged: {error}", remedy="copy or export it again") from None


def _content(archive: ZipFile) -> Archive:
    names = archive.namelist()
    root = _root(names)
    if (size := sum(member.file_size for member in archive.infolist())) > MOST_BYTES:
        raise TooLargeError(f"the file holds {size:,} bytes, more than {MOST_BYTES:,}", remedy="use a smaller model")

    def read(name: str) -> bytes:
        if root + name not in names:
            raise MalformedArchiveError(f"'{name}' is not there")
        return archive.read(root + name)

    _check_order(read, names, root)
    program = _json(read(f"models/{_model(names, root)}.json"), "the program")
    _check_version(program)
    model = _model(names, root)
    weights = _stored(read, "data/weights/", f"{model}_weights_config.json", names, root)
    constants = _stored(read, "data/constants/", f"{model}_constants_config.json", names, root)
    return Archive(program, weights, constants)


def _root(names: list[str]) -> str:
    """The top-level folder in the ZIP."""
    ends = [name for name in names if name == "archive_format" or name.endswith("/archive_format")]
    if not ends:
        if any(name.endswith("serialized_exported_program.json") for name in names):
            raise MoteError("the file was written by PyTorch 2.7 or older", remedy=SAVE_AGAIN)
        raise MoteError("the file is not a program saved by torch.export", remedy=SAVE_AGAIN)
    return min(ends, key=len).removesuffix("archive_format")


def _model(names: list[str], root: str) -> str:
    folder = f"{root}models/"
    models = [name[len(folder) : -len(".json")] for name in names if name.startswith(folder) and name.endswith(".json")]
    if len(models) == 1:
        return models[0]
    if not models:
        raise MoteError(
            "the file holds compiled libraries, but no program",
            remedy="save what torch.export.export returns with torch.export.save",
        )
    raise MoteError(
        f"the file holds {len(models)} programs: {', '.join(sorted(models))}", remedy="save each into a file of its own"
    )


def _check_order(read: Callable[[str], bytes], names: Iterable[str], root: str) -> None:
    if f"{root}byteorder" in names and read("byteorder").strip() != b"little":
        raise MoteError("the weights were saved on a machine with another order of bytes", remedy=SAVE_AGAIN)


def _check_version(program: Mapping[str, Any]) -> None:
    major = field(record(field(program, "schema_version"), "the version"), "major")
    if major != SCHEMA:
        written = program.get("torch_version", "an unknown version")
        raise MoteError(
            f"the file was written by PyTorch {written}, whose format has version {major}; Mote knows {SCHEMA}",
            remedy="export the module again with the version of PyTorch that is installed with Mote",
        )


def _stored(
    read: Callable[[str], bytes], folder: str, config: str, names: Iterable[str], root: str
) -> dict[str, Stored]:
    """The tensors of a folder, by their names in the module."""
    if root + folder + config not in names:
        raise MoteError("the weights are not where a current PyTorch saves them", remedy=SAVE_AGAIN)
    entries = record(field(_json(read(folder + config), config), "config"), config)
    tensors = {}
    for name, entry in entries.items():
        entry = record(entry, name)
        path = str(field(entry, "path_name"))
        if entry.get("use_pickle") or not entry.get("tensor_meta"):
            raise MoteError(
                f"'{name}' was saved as a pickle, which could run anything when it is loaded", remedy=PLAIN_WEIGHTS
            )
        tensors[name] = Stored(record(entry["tensor_meta"], name), read(folder + path))
    return tensors


def _json(data: bytes, what: str) -> Mapping[str, Any]:
    try:
        return record(parse_json(data, MOST_NESTED), what)
    except DocumentError as error:
        raise MalformedArchiveError(f"{what} is not JSON: {error}") from None


def record(value: object, what: str) -> Mapping[str, Any]:
    """A JSON value that must be an object."""
    if not isinstance(value, dict):
        raise MalformedArchiveError(f"{what} has no fields")
    return value


def field(values: Mapping[str, Any], name: str) -> Any:
    """A field that must be present."""
    if name not in values:
        raise MalformedArchiveError(f"a field '{name}' is missing")
    return values[name]


def only(value: object, what: str) -> tuple[str, Any]:
    """The kind and the value of a tagged union."""
    fields = record(value, what)
    if len(fields) != 1:
        raise MalformedArchiveError(f"{what} is not of one kind")
    return next(iter(fields.items()))
