"""Arrays in .npy and .npz files, which may be damaged or hostile: every header is validated first."""

from __future__ import annotations

import zlib
from ast import literal_eval
from collections.abc import Mapping
from io import BytesIO
from math import prod
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.lib import format as npy

from mote.base.errors import MoteError
from mote.ir.graph.tensor import Array

ONE = "arr_0"
"""NumPy's name for the first of several arrays without names."""
ZIP = b"PK"
"""The magic bytes of a .npz file."""
MOST = 1 << 30
"""Bytes of a file's arrays together."""
LONGEST = 10_000
"""Bytes of a header."""
_PARSED = (ValueError, TypeError, KeyError, SyntaxError, RecursionError, MemoryError)
"""The exceptions that Python and NumPy raise for invalid headers."""
_UNPACKED = (EOFError, BadZipFile, zlib.error, NotImplementedError, RuntimeError)
"""The exceptions that zipfile raises for invalid files."""


def load_arrays(path: str | Path) -> dict[str, Array]:
    """The arrays of a file by name."""
    try:
        with Path(path).open("rb") as file:
            zipped = file.read(len(ZIP)) == ZIP
            file.seek(0)
            return _members(file) if zipped else {ONE: _array(file, Path(path).stat().st_size)}
    except OSError as error:
        raise MoteError(f"cannot be read ({error.strerror or error})", where=str(path)) from None
    except (*_PARSED, *_UNPACKED) as error:
        raise MoteError(
            f"cannot be read as .npy or .npz ({error})",
            where=str(path),
            remedy="save it with numpy.save or numpy.savez",
        ) from None


def packed_arrays(arrays: Mapping[str, Array]) -> bytes:
    """The .npz file of arrays, which may have any names."""
    packed = BytesIO()
    with ZipFile(packed, "w") as members:
        for name, array in arrays.items():
            with members.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, np.asarray(array), allow_pickle=False)
    return packed.getvalue()


def _members(file: IO[bytes]) -> dict[str, Array]:
    with ZipFile(file) as members:
        infos = members.infolist()
        if sum(info.file_size for info in infos) > MOST:
            raise ValueError(f"it would take more than {MOST:,} bytes")
        arrays = {}
        for info in infos:
            with members.open(info) as member:
                arrays[info.filename.removesuffix(".npy")] = _array(member, info.file_size)
        return arrays


def _array(file: IO[bytes], size: int) -> Array:
    """One array from a stream of so many bytes."""
    shape, by_columns, dtype = _header(file)
    need, held = prod(shape) * dtype.itemsize, size - file.tell()
    if need != held or need > MOST:
        raise ValueError(f"an array of shape {'x'.join(map(str, shape))[:80]} takes {need:,} bytes; it holds {held:,}")
    return np.frombuffer(file.read(need), dtype).reshape(shape, order="F" if by_columns else "C")


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether the first index runs fastest, and type. NumPy's own reader trusts more than is said here."""
    version = npy.read_magic(file)
    length = int.from_bytes(file.read(2 if version == (1, 0) else 4), "little")
    if length > LONGEST:
        raise ValueError(f"a header of {length:,} bytes")
    header = literal_eval(file.read(length).decode("latin1").strip())
    shape, by_columns, dtype = header["shape"], header["fortran_order"], np.dtype(header["descr"])
    whole = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)
    if not whole or type(by_columns) is not bool:
        raise ValueError(f"the shape {str(shape)[:80]}")
    if dtype.kind not in "biufSU":
        raise ValueError(f"it holds {dtype}, no plain numbers or texts")
    return shape, by_columns, dtype
