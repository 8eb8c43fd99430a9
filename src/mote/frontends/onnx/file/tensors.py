"""Tensors of an ONNX file as arrays: raw or typed data, sparse tensors, external data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np

from mote.base.errors import MoteError, TooLargeError
from mote.base.text import printable
from mote.frontends import limits
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType

MOST_BYTES = (1 << 31) - 1
"""Size limit of a file, and of all external data files together: that of the format."""
MOST_DENSE = limits.MOST_ELEMENTS
"""Element limit of a sparse tensor's dense shape."""
EXPORT = "export the model again"

_FLOAT, _UINT8, _INT8, _UINT16, _INT16, _INT32, _INT64, _STRING, _BOOL, _FLOAT16, _DOUBLE = range(1, 12)
_UINT32, _UINT64, _COMPLEX64, _COMPLEX128, _BFLOAT16 = range(12, 17)
STRING = _STRING
DTYPES = {
    _FLOAT: DType.FLOAT32,
    _UINT8: DType.UINT8,
    _INT8: DType.INT8,
    _UINT16: DType.UINT16,
    _INT16: DType.INT16,
    _INT32: DType.INT32,
    _INT64: DType.INT64,
    _STRING: DType.STRING,
    _BOOL: DType.BOOL,
    _FLOAT16: DType.FLOAT16,
    _DOUBLE: DType.FLOAT64,
    _UINT32: DType.UINT32,
    _UINT64: DType.UINT64,
    _COMPLEX64: DType.COMPLEX64,
    _COMPLEX128: DType.COMPLEX128,
    _BFLOAT16: DType.BFLOAT16,
}
"""Element types by their numbers in TensorProto; the others are 8-bit floats and sub-byte types."""
FLOATS = {DType.FLOAT16, DType.BFLOAT16, DType.FLOAT64}
"""Float types that are computed in float32."""
_FEW_BITS = {
    **dict.fromkeys((17, 18, 19, 20, 23, 24), DType.FLOAT32),
    **dict.fromkeys((22, 26), DType.INT8),
    **dict.fromkeys((21, 25), DType.UINT8),
}
"""Sub-byte and 8-bit float types, and the types that hold them."""


def held_type(data_type: int) -> DType:
    """The type in which Mote holds elements of an element type of the file."""
    dtype = DTYPES.get(data_type, _FEW_BITS.get(data_type, DType.UNKNOWN))
    return DType.FLOAT32 if dtype in FLOATS else dtype


class DamagedError(MoteError):
    """A malformed file."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the file is damaged ({reason})", remedy=f"{EXPORT}, or fetch the file again")


@dataclass
class Files:
    """The external data files of a model; None: the model came without a folder."""

    folder: Path | None
    taken: int = 0
    """Bytes that were read so far."""

    def read(self, name: str, proto: Any, need: int) -> bytes:
        """The bytes of a tensor in external data."""
        entries = {entry.key: entry.value for entry in proto.external_data}
        location = entries.get("location", "")
        what = f"tensor '{name}' is external data in the file '{printable(location)}'"
        path = self._inside(location, what)
        offset, length = (_number(entries.get(key, ""), key, what) for key in ("offset", "length"))
        length = need if length is None else length
        offset = offset or 0
        if length != need:
            raise DamagedError(f"{what}, which has {length} bytes for it; its shape needs {need}")
        self.taken += need
        if self.taken > MOST_BYTES:
            raise TooLargeError("the files with the model's tensors have more than 2 GB", remedy="use a smaller model")
        try:
            with path.open("rb") as file:
                file.seek(offset)
                content = file.read(need)
        except OSError as error:
            raise MoteError(f"{what}, which cannot be read: {error.strerror}", remedy=_BESIDE) from None
        if len(content) < need:
            raise MoteError(
                f"{what}, which ends at byte {offset + len(content)}; the tensor needs it up to {offset + need}",
                remedy="copy or fetch the complete file again",
            )
        return content

    def _inside(self, location: str, what: str) -> Path:
        """The path of an external data file, which must be inside the model's folder."""
        if self.folder is None:
            raise MoteError(f"{what}, and the model came without a folder", remedy="give Mote the path of its file")
        parts = (PurePosixPath(location), PureWindowsPath(location))
        outside = any(p.is_absolute() or p.anchor or ".." in p.parts for p in parts)
        if not location or "\0" in location or outside:
            raise MoteError(f"{what}, which is not in the model's folder", remedy=_BESIDE)
        path = self.folder / location
        try:
            inside = path.resolve().is_relative_to(self.folder.resolve())
        except (OSError, RuntimeError):
            inside = False
        if not inside:
            raise MoteError(f"{what}, which is outside of the model's folder", remedy=_BESIDE)
        if not path.is_file():
            raise MoteError(f"{what}, which is missing", remedy=_BESIDE)
        return path


_BESIDE = "put the file into the folder of the model, or save the model as one file: onnx.save(onnx.load(PATH), NEW)"


def _number(text: str, key: str, what: str) -> int | None:
    """A number of bytes; None where it is omitted."""
    if not text:
        return None
    if not (text.isascii() and text.isdecimal()) or len(text) > 15:
        raise DamagedError(f"{what}, with the {key} '{printable(text)}'")
    return int(text)


def read_tensor(proto: Any, files: Files | None = None) -> Array:
    """The array of a TensorProto, in the file's own type; strings are objects."""
    from onnx import TensorProto, numpy_helper

    name = printable(proto.name)
    shape = _shape(proto.dims, name)
    if proto.data_type == STRING:
        if len(proto.string_data) != prod(shape):
            raise DamagedError(f"tensor '{name}' has {len(proto.string_data)} strings, its shape needs {prod(shape)}")
        texts = [text.decode("utf-8", "backslashreplace") for text in proto.string_data]
        return np.array(texts, dtype=object).reshape(shape)
    need = _bytes(proto.data_type, shape, name)
    if proto.data_location == TensorProto.EXTERNAL:
        if files is None:
            raise DamagedError(f"tensor '{name}' is external data, which only an initializer may be")
        proto = TensorProto(dims=proto.dims, data_type=proto.data_type, raw_data=files.read(name, proto, need))
    elif proto.HasField("raw_data"):
        if len(proto.raw_data) != need:
            raise DamagedError(f"tensor '{name}' holds {len(proto.raw_data)} bytes, its shape needs {need}")
    else:
        _check_count(proto, shape, name)
    try:
        return np.asarray(numpy_helper.to_array(proto))
    except (ValueError, TypeError, OverflowError) as error:
        raise DamagedError(f"tensor '{name}': {error}") from None


def _shape(dims: Sequence[int], name: str) -> Shape:
    if len(dims) > limits.MOST_AXES:
        raise TooLargeError(f"tensor '{name}' has {len(dims)} axes, more than {limits.MOST_AXES}")
    if any(n < 0 for n in dims):
        raise DamagedError(f"tensor '{name}' has the shape {tuple(dims)}")
    return tuple(dims)


def bits(data_type: int) -> int:
    """Bits of an element; 0 for types that no array has."""
    from onnx import TensorProto

    names = {number: name for name, number in TensorProto.DataType.items()}
    name = names.get(data_type, "UNDEFINED")
    for few, ends in ((2, ("INT2",)), (4, ("INT4", "FLOAT4E2M1"))):
        if name.endswith(ends):
            return few
    if name.startswith("FLOAT8"):
        return 8
    dtype = DTYPES.get(data_type, DType.UNKNOWN)
    if dtype == DType.BFLOAT16:
        return 16
    return 8 * np.dtype(str(dtype)).itemsize if dtype not in (DType.UNKNOWN, DType.STRING) else 0


def _bytes(data_type: int, shape: Shape, name: str) -> int:
    """Bytes of a tensor's elements, with sub-byte ones packed."""
    each = bits(data_type)
    if not each:
        raise DamagedError(f"tensor '{name}' has the unknown element type {data_type}")
    return -(-prod(shape) * each // 8)


def _check_count(proto: Any, shape: Shape, name: str) -> None:
    """Refuse a typed data field whose length does not match the shape."""
    size, each = prod(shape), bits(proto.data_type)
    if proto.data_type in (_FLOAT, _COMPLEX64):
        have = len(proto.float_data)
    elif proto.data_type in (_DOUBLE, _COMPLEX128):
        have = len(proto.double_data)
    elif proto.data_type == _INT64:
        have = len(proto.int64_data)
    elif proto.data_type in (_UINT32, _UINT64):
        have = len(proto.uint64_data)
    else:
        have = len(proto.int32_data)
    pairs = proto.data_type in (_COMPLEX64, _COMPLEX128)
    need = 2 * size if pairs else -(-size * each // 8) if each < 8 else size
    if have != need:
        raise DamagedError(f"tensor '{name}' holds {have} elements, its shape needs {need}")


def read_sparse(proto: Any) -> Array:
    """The dense array of a SparseTensorProto."""
    values = read_tensor(proto.values)
    name = printable(proto.values.name)
    shape = _shape(proto.dims, name)
    size = prod(shape)
    if size > MOST_DENSE:
        raise TooLargeError(f"the sparse tensor '{name}' has {size:,} elements, more than {MOST_DENSE:,}")
    places = read_tensor(proto.indices)
    if places.dtype != np.int64 or values.ndim != 1 or places.shape not in ((values.size,), (values.size, len(shape))):
        raise DamagedError(f"the indices of the sparse tensor '{name}' have the shape {places.shape}")
    if places.ndim == 2:
        if np.any(places < 0) or np.any(places >= np.array(shape, np.int64)):
            raise DamagedError(f"the sparse tensor '{name}' has elements outside of its shape {shape}")
        places = np.ravel_multi_index(tuple(places.T), shape) if shape else places.reshape(-1)
    if np.any(places < 0) or np.any(places >= size):
        raise DamagedError(f"the sparse tensor '{name}' has elements outside of its shape {shape}")
    dense = np.zeros(size, values.dtype)
    dense[places] = values
    return dense.reshape(shape)


def computed(data: Array) -> Array:
    """An array in the compute type: every float as float32, sub-byte integers in 8 bits."""
    if data.dtype.kind in "biu" or data.dtype in (np.float32, np.complex64) or data.dtype == object:
        return data
    if data.dtype.kind == "c":
        return data.astype(np.complex64)
    name = data.dtype.name
    if "int" in name:
        return data.astype(np.uint8 if name.startswith("uint") else np.int8)
    with np.errstate(over="ignore"):
        return data.astype(np.float32)
