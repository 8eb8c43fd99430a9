"""Inputs from files that are damaged or mean harm."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from mote.base.errors import MoteError
from mote.frontends.data.readers.arrays import MOST, load_arrays, packed_arrays
from mote.ir.graph.tensor import Array


def npy(shape: object, descr: object = "|i1", data: bytes = b"", version: int = 1, order: object = False) -> bytes:
    """A .npy file that says what it likes."""
    header = f"{{'descr': {descr!r}, 'fortran_order': {order!r}, 'shape': {shape!s}, }}\n".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def npz(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return packed.getvalue()


def saved(array: Array, **options: bool) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


DAMAGED = 100
"""Files of each kind with bytes changed."""
GOOD = np.arange(12, dtype=np.int16).reshape(3, 4)
BAD = {
    "empty": b"",
    "text": b"no array",
    "huge": npy((10**12,)),
    "huge in three": npy((10**6, 10**6, 10**6), "<f8"),
    "beyond numbers": npy((10**30,)),
    "negative": npy((-1, -8), data=bytes(8)),
    "of words": npy("('a',)"),
    "nested": npy("(" * 3000 + ")" * 3000),
    "truncated": saved(GOOD)[:-1],
    "too long": saved(GOOD) + b"x",
    "objects": saved(np.array([{}], object), allow_pickle=True),
    "a pickle": pickle.dumps({"a": 1}),
    "records": npy((1,), [("a", "|i1")], b"x"),
    "no order": npy((1,), order=3, data=b"x"),
    "several types": npy((1,), "i4,i4", bytes(8)),
    "no dictionary": npy((1,), data=b"x").replace(b"'descr'", b"'other'"),
    "no type": npy((1,), "nonsense", b"x"),
    "a long header": npy((1,), data=b"x").replace(b"}", b" " * 20_000 + b"}").replace(b"v\x00", b"\xff\xff"),
    "zip: no array": npz({"a.npy": b"no array"}),
    "zip: huge": npz({"a.npy": npy((10**12,))}),
    "zip: a bomb": npz({"a.npy": npy((MOST + 1,), data=bytes(1 << 20)) + bytes(64 << 20)}),
    "zip: cut": npz({"a.npy": saved(GOOD)})[:-30],
    "zip: only the magic": b"PK",
    "zip: objects": npz({"a.npy": saved(np.array([{}], object), allow_pickle=True)}),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_none(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(BAD[name])
    with pytest.raises(MoteError, match=r"x\.npy: cannot be read as \.npy or \.npz"):
        load_arrays(path)


def test_damaged_bytes(tmp_path: Path) -> None:
    """Any byte of a file may be another: it is an array, or an error."""
    rng = np.random.default_rng(0)
    refused = 0
    for whole in (saved(GOOD), npz({"a.npy": saved(GOOD)})):
        for _ in range(DAMAGED):
            damaged = bytearray(whole)
            for at in rng.integers(0, len(whole), rng.integers(1, 4)):
                damaged[at] = rng.integers(0, 256)
            (tmp_path / "x.npz").write_bytes(damaged)
            try:
                load_arrays(tmp_path / "x.npz")
            except MoteError:
                refused += 1
    assert refused > DAMAGED


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Under any name: `file` is a parameter of numpy.savez."""
    arrays = {"file": GOOD, "a/b:0": np.array(3.5), "c": np.asfortranarray(GOOD), "names": np.array(["yes", "no"])}
    (tmp_path / "x.npz").write_bytes(packed_arrays(arrays))
    for found in (load_arrays(tmp_path / "x.npz"), dict(np.load(tmp_path / "x.npz"))):
        assert found.keys() == arrays.keys()
        assert all(np.array_equal(found[name], arrays[name]) for name in arrays)
    np.save(tmp_path / "y.npy", np.asfortranarray(GOOD))
    assert np.array_equal(load_arrays(tmp_path / "y.npy")["arr_0"], GOOD)


def test_what_is_no_file(tmp_path: Path) -> None:
    for path, says in ((tmp_path / "absent", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(MoteError, match=says):
            load_arrays(path)
