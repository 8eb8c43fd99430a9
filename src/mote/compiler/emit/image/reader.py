"""Parses images for tools. Every offset is checked; errors describe what is invalid."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mote.base.documents import DocumentError, parse_json
from mote.base.errors import MoteError
from mote.base.files import read_file
from mote.compiler.emit.image import format
from mote.compiler.emit.image.detection import is_image
from mote.compiler.emit.image.format import Feature, ImageRecord, TrainingRole
from mote.compiler.lower.program import IMAGE, STATES, Form, Kind
from mote.ir.graph.types import DType

MOST_BYTES = 1 << 30
"""Size limit of an image file."""
AGAIN = "copy or download the file again, or make it again with `mote pack`"
NEWER = "use the version of Mote that made it, or a newer one"


class ImageError(MoteError):
    """An image that is damaged, or not supported by this version of Mote."""

    def __init__(self, reason: str, remedy: str = AGAIN) -> None:
        super().__init__(reason, remedy=remedy)


@dataclass(frozen=True)
class NeededKernel:
    """A kernel that the image needs from a runtime."""

    id: int
    name: str


@dataclass(frozen=True)
class PortInfo:
    """An input or output of an image."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    scale: float
    """The quantization scale; 0: not quantized."""
    zero_point: int
    memory: int
    """The number of the memory; NO_MEMORY: the input is pushed row by row."""
    offset: int
    nbytes: int
    row_bytes: int
    labels: tuple[str, ...]


@dataclass(frozen=True)
class PlaceInfo:
    """The location of a tensor: memory, address, and how its rows are laid out."""

    row_bytes: int
    rows: int
    at: int
    memory: int
    kind: Kind
    ring: int
    offsets: tuple[int, ...] = ()
    """The offset of each row, if rows are located by a table."""


@dataclass(frozen=True)
class OperandInfo:
    place: PlaceInfo
    taps: int
    start: int
    step: int
    spread: int
    listed: bool


@dataclass(frozen=True)
class OpInfo:
    """An op of an image; `fields` have the names in the format."""

    name: str
    kernel: str
    form: Form
    operands: tuple[OperandInfo, ...]
    out: PlaceInfo | None
    fields: Mapping[str, int]


@dataclass(frozen=True)
class ImageContents:
    """The contents of an image."""

    header: Mapping[str, Any]
    kernels: tuple[NeededKernel, ...]
    inputs: tuple[PortInfo, ...]
    outputs: tuple[PortInfo, ...]
    ops: tuple[OpInfo, ...]
    schedule: tuple[int, ...]
    initial: tuple[Mapping[str, int], ...]
    about: Mapping[str, Any]
    """Metadata for tools; empty if stripped."""
    signature: Mapping[str, Any] | None
    """The unverified signature after the image, if any."""

    @property
    def features(self) -> Feature:
        return Feature(self.header["features"])

    @property
    def sections(self) -> dict[str, int]:
        """Bytes of each section."""
        features = self.header["features"]
        return {name: self.header[f"{name}_count"] * format.entry_bytes(name, features) for name in format.SECTIONS}

    @property
    def learned(self) -> tuple[Mapping[str, int], ...]:
        """The states with learned weights."""
        return tuple(state for state in self.initial if state.get("role") == TrainingRole.LEARNED)

    @property
    def record_bytes(self) -> int:
        """Bytes of a record of learned weights, see `mote_weights.h`; 0: the model does not learn."""
        payload = sum(state["bytes"] for state in self.learned)
        return format.RECORD_BYTES + -(-payload // 4) * 4 if self.learned else 0

    @cached_property
    def layers(self) -> tuple[Mapping[str, Any], ...]:
        """Metadata of the first ops, one per operator of the plan."""
        ops = self.about.get("ops", ())
        return tuple(one for one in ops if isinstance(one, Mapping)) if isinstance(ops, list) else ()


def read_image(path: str | Path) -> bytes:
    """Reads the bytes of an image file."""
    data = read_file(path, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise MoteError("is too large for an image", where=str(path))
    return data


def read(data: bytes) -> ImageContents:
    """Parses an image; raises ImageError if it is invalid or inconsistent."""
    return _Reader(data, read_header(data)).description()


def read_header(data: bytes) -> dict[str, Any]:
    """Parses the header; checks length and CRC-32."""
    if not is_image(data):
        raise ImageError("is no image: it does not begin with the letters MOTE", "make one with `mote pack`")
    if len(data) < format.HEADER.nbytes:
        raise ImageError(f"ends after {len(data)} bytes, in the middle of its header")
    header = format.HEADER.unpack(data)
    if header["format"] != format.FORMAT:
        raise ImageError(f"has format {header['format']}, and this version of Mote reads {format.FORMAT}", NEWER)
    if header["header_bytes"] != format.HEADER.nbytes:
        raise ImageError(f"says that its header has {header['header_bytes']} bytes, not {format.HEADER.nbytes}")
    nbytes = header["bytes"]
    if nbytes > len(data):
        raise ImageError(f"is cut off: it has {nbytes:,} bytes, of which {len(data):,} are there")
    if nbytes < format.HEADER.nbytes or nbytes % format.ALIGNMENT:
        raise ImageError(f"says that it has {nbytes:,} bytes, which no image has")
    crc = zlib.crc32(data[format.CHECKED_FROM : nbytes])
    if crc != header["crc"]:
        raise ImageError(f"is damaged: the CRC-32 of its bytes is {crc:08x}, and should be {header['crc']:08x}")
    unknown = header["features"] & ~sum(Feature)
    if unknown:
        raise ImageError(f"has features that this version of Mote does not know ({unknown:#x})", NEWER)
    return header


def read_signature(behind: bytes) -> Mapping[str, Any] | None:
    """Parses the signature after an image; None if there is none."""
    if not behind:
        return None
    if len(behind) != format.SIGNATURE.nbytes or not behind.startswith(format.SIGNED):
        raise ImageError(f"has {len(behind):,} bytes behind it that are no signature")
    block = format.SIGNATURE.unpack(behind)
    return {
        "algorithm": block["algorithm"],
        "key": bytes(block["key"]).hex(),
        "signature": bytes(block["signature"]).hex(),
    }


class _Reader:
    def __init__(self, data: bytes, header: dict[str, Any]) -> None:
        self.nbytes: int = header["bytes"]
        self.data, self.behind, self.header = data[: self.nbytes], data[self.nbytes :], header
        for section in format.SECTIONS:
            self._check_section(section)
        self.rows = self._numbers("rows", f"<u{format.row_entry_bytes(header['features'])}")
        self.lists = self._numbers("lists", "<i4")
        self.schedule = self._numbers("schedule", "<u2")

    def _check_section(self, section: str) -> None:
        begin, count = self._span(section)
        size = count * format.entry_bytes(section, self.header["features"])
        if begin < format.HEADER.nbytes or begin % format.ALIGNMENT or begin + size > self.nbytes:
            raise ImageError(f"is inconsistent: section '{section}' does not lie inside of it")

    def _span(self, section: str) -> tuple[int, int]:
        return self.header[f"{section}_offset"], self.header[f"{section}_count"]

    def description(self) -> ImageContents:
        kernels = tuple(NeededKernel(k["id"], self._text(k["name"])) for k in self._records("kernels"))
        places = [self._place(p) for p in self._records("places")]
        operands = [self._operand(o, places) for o in self._records("operands")]
        ops = tuple(self._op(o, kernels, operands, places) for o in self._records("ops"))
        ports = [self._port(p) for p in self._records("ports")]
        count = self.header["inputs"]
        if len(ports) != count + self.header["outputs"]:
            raise ImageError("is inconsistent: its inputs and outputs are not as many as it says")
        if any(number >= len(ops) for number in self.schedule):
            raise ImageError("is inconsistent: a step runs an op that is not there")
        initial = tuple(self._records("states"))
        for state in initial:
            self._check(state.get("role", 0) in list(TrainingRole), f"there is no role {state.get('role')} of a state")
            self._check(state["at"] + state["bytes"] <= self.header["states"], "a state lies outside of the states")
            self._check_inside(state["data"], state["bytes"] if state["data"] else 0, "what a state begins with")
        schedule = tuple(map(int, self.schedule))
        edges = tuple(ports[:count]), tuple(ports[count:])
        return ImageContents(
            self.header, kernels, *edges, ops, schedule, initial, self._about(), read_signature(self.behind)
        )

    def _check(self, holds: bool, what: str) -> None:
        if not holds:
            raise ImageError(f"is inconsistent: {what}")

    def _check_inside(self, at: int, nbytes: int, what: str) -> None:
        self._check(at + nbytes <= self.nbytes, f"{what} lies outside of it")

    def _records(self, section: str) -> list[dict[str, Any]]:
        record: ImageRecord = format.ENTRIES[section]
        if section == "states":
            record = format.state_record(self.header["features"])
        begin, count = self._span(section)
        return [record.unpack(self.data, begin + k * record.nbytes) for k in range(count)]

    def _numbers(self, section: str, dtype: str) -> np.ndarray[Any, Any]:
        begin, count = self._span(section)
        return np.frombuffer(self.data, dtype, count, begin)

    def _text(self, at: int) -> str:
        """The zero-terminated text at an offset."""
        begin, count = self._span("text")
        end = self.data.find(b"\0", at, begin + count) if begin <= at < begin + count else -1
        self._check(end >= 0, "a name is not among its text")
        return self.data[at:end].decode("utf-8", "replace")

    def _port(self, port: dict[str, Any]) -> PortInfo:
        dtypes = {code: dtype for dtype, code in format.DTYPES.items()}
        self._check(port["dtype"] in dtypes, f"type {port['dtype']} of an input or output is none")
        self._check_inside(port["shape"], 4 * port["rank"], "the shape of an input or output")
        self._check(math.isfinite(port["scale"]), "the scale of an input or output is no number")
        labels = self._text(port["labels"]).split("\n") if port["labels"] else []
        return PortInfo(
            self._text(port["name"]),
            dtypes[port["dtype"]],
            tuple(int(n) for n in np.frombuffer(self.data, "<u4", port["rank"], port["shape"])),
            port["scale"],
            port["zero_point"],
            self._memory(port["memory"], none=True),
            port["offset"],
            port["bytes"],
            port["row_bytes"],
            tuple(labels),
        )

    def _memory(self, memory: int, *, none: bool = False) -> int:
        known = memory < format.MEMORIES or memory in (STATES, IMAGE) or (none and memory == format.NO_MEMORY)
        self._check(known, f"there is no memory {memory}")
        return memory

    def _place(self, place: dict[str, Any]) -> PlaceInfo:
        self._check(place["kind"] in list(Kind), "rows lie in a way that there is not")
        kind = Kind(place["kind"])
        offsets: tuple[int, ...] = ()
        if kind is Kind.TABLE:
            at, count = place["at"], place["rows"]
            self._check(at + count <= len(self.rows), "the table of a tensor's rows is not there")
            offsets = tuple(4 * int(row) for row in self.rows[at : at + count])
        if place["memory"] == IMAGE:
            self._check(kind is Kind.STRIP, "the rows of a constant do not lie one after another")
            self._check_inside(place["at"], place["rows"] * place["row_bytes"], "a constant")
        memory = self._memory(place["memory"])
        return PlaceInfo(place["row_bytes"], place["rows"], place["at"], memory, kind, place["ring"], offsets)

    def _operand(self, operand: dict[str, Any], places: Sequence[PlaceInfo]) -> OperandInfo:
        self._check(operand["place"] < len(places), "an operand lies in a place that is not there")
        listed = operand["list"] != format.NO_LIST
        self._check(not listed or operand["list"] <= len(self.lists), "a list of rows is not there")
        formula = operand["start"], operand["step"], operand["spread"]
        return OperandInfo(places[operand["place"]], operand["taps"], *formula, listed)

    def _op(
        self,
        op: dict[str, Any],
        kernels: Sequence[NeededKernel],
        operands: Sequence[OperandInfo],
        places: Sequence[PlaceInfo],
    ) -> OpInfo:
        begin, end = op["operand"], op["operand"] + op["operands"]
        self._check(op["form"] in list(Form), f"there is no form {op['form']} of an op")
        self._check(op["kernel"] < len(kernels) or op["kernel"] == format.NO_KERNEL, "an op has no kernel")
        self._check(end <= len(operands), "an op has operands that are not there")
        self._check(op["out"] < len(places) or op["out"] == format.NO_PLACE, "an output lies nowhere")
        self._check_inside(op["params"], 0, "the parameters of an op")
        for room in ("scratch_memory", "sums_memory"):
            self._memory(op[room], none=True)
        kernel = "" if op["kernel"] == format.NO_KERNEL else kernels[op["kernel"]].name
        out = None if op["out"] == format.NO_PLACE else places[op["out"]]
        fields = {
            name: value for name, value in op.items() if name not in ("name", "kernel", "form", "operands", "out")
        }
        return OpInfo(self._text(op["name"]), kernel, Form(op["form"]), tuple(operands[begin:end]), out, fields)

    def _about(self) -> Mapping[str, Any]:
        begin, count = self._span("about")
        if not count:
            return {}
        try:
            about = parse_json(self.data[begin : begin + count])
        except DocumentError:
            about = None
        if not isinstance(about, dict):
            raise ImageError("is inconsistent: what it tells tools is no JSON object")
        return about
