"""Writes a program as an image. Equal programs give equal bytes; equal arrays are stored once."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from mote.base.errors import MoteError
from mote.compiler.emit.image import format
from mote.compiler.emit.image.format import Feature, TrainingRole
from mote.compiler.emit.image.kernels import KernelRecord, merged, record
from mote.compiler.kernels.contract import ALIGNMENT, Structs
from mote.compiler.kernels.structs import words
from mote.compiler.lower.program import IMAGE, Form, Initial, Instruction, Kind, Operand, Place, Port, Program
from mote.ir.graph.rows import row_count
from mote.ir.graph.tensor import Array

T = TypeVar("T")


@dataclass(frozen=True)
class Details:
    """The metadata of a model in an image, in addition to its program."""

    source: bytes = bytes(32)
    """The SHA-256 of the model file."""
    version: int = 0
    product: int = 0
    strip: bool = False
    """Whether names of layers and metadata for tools are omitted."""
    labels: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """The class names of outputs, by output index."""
    fused: bool = False
    aligned: bool = False
    about: Mapping[str, object] = field(default_factory=dict)
    """The metadata for tools, as JSON."""


def write(program: Program, details: Details) -> bytes:
    """The bytes of the image of a program."""
    return _Writer(program, details).image()


@dataclass
class _Blobs:
    """Deduplicated arrays, contiguous from the offset `begin` on."""

    begin: int = 0
    data: bytearray = field(default_factory=bytearray)
    _offsets: dict[bytes, int] = field(default_factory=dict)

    def add(self, value: bytes, alignment: int = format.ALIGNMENT) -> int:
        """Adds an array, if it is new, and returns its offset in the image."""
        if self._offsets.get(value, 1) % alignment:
            self.data += bytes(-(self.begin + len(self.data)) % alignment)
            self._offsets[value] = self.begin + len(self.data)
            self.data += value.ljust(format.aligned(max(len(value), 1)), b"\0")
        return self._offsets[value]


@dataclass
class _Texts:
    """Deduplicated texts of the image."""

    begin: int = 0
    data: bytearray = field(default_factory=bytearray)
    _offsets: dict[str, int] = field(default_factory=dict)

    def add(self, text: str) -> int:
        """Adds a text, if it is new, and returns its offset in the text section."""
        clean = text.replace("\0", " ")
        if clean not in self._offsets:
            self._offsets[clean] = len(self.data)
            self.data += clean.encode("utf-8", "replace") + b"\0"
        return self._offsets[clean]

    def at(self, text: str) -> int:
        """The offset of a text in the image."""
        return self.begin + self.add(text)


class _Groups(Generic[T]):
    """The entries of a section, added in groups; equal groups are stored once."""

    def __init__(self) -> None:
        self.at: dict[tuple[T, ...], int] = {}
        """The index of the first entry of each group."""
        self.entries: list[T] = []

    def add(self, group: tuple[T, ...]) -> int:
        if group not in self.at:
            self.at[group] = len(self.entries)
            self.entries += group
        return self.at[group]


class _Writer:
    def __init__(self, program: Program, details: Details) -> None:
        self.program, self.details = program, details
        self.records = merged(record(kernel) for kernel in program.kernels)
        self.kernel_numbers = {known.id: i for i, known in enumerate(self.records)}
        self.operands, self.places = _Groups[Operand](), _Groups[Place]()
        self.lists, self.rows = _Groups[int](), _Groups[int]()
        self.texts, self.blobs = _Texts(), _Blobs()
        self.words = 0
        self._collect()

    def _collect(self) -> None:
        """Adds everything that ops refer to, so that it has an index, and all texts."""
        for i in self.program.instructions:
            self.operands.add(i.operands)
            for place in (*([] if i.out is None else [i.out]), *(o.place for o in i.operands)):
                self.places.add((place,))
                self.rows.add(_table(place))
            for listed in (i.listed, *(o.listed for o in i.operands)):
                self.lists.add(listed)
            self.texts.add(self._name(i))
        for known in self.records:
            self.texts.add(known.name)
        for k, port in enumerate((*self.program.inputs, *self.program.outputs)):
            self.texts.add(port.tensor.name)
            self.texts.add(self._labels(k))

    def _name(self, instruction: Instruction) -> str:
        return "" if self.details.strip else instruction.name

    def _labels(self, port: int) -> str:
        return "\n".join(self.details.labels.get(port - len(self.program.inputs), ()))

    def image(self) -> bytes:
        program = self.program
        counts = {
            "kernels": len(self.records),
            "ports": len(program.inputs) + len(program.outputs),
            "ops": len(program.instructions),
            "operands": len(self.operands.entries),
            "places": len(self.places.entries),
            "schedule": len(program.schedule),
            "rows": len(self.rows.entries),
            "lists": len(self.lists.entries),
            "states": len(program.states),
            "text": len(self.texts.data),
        }
        self._check_counts(counts)
        features, at, offsets = self._features(), format.HEADER.nbytes, dict[str, int]()
        for section, count in counts.items():
            offsets[section] = at
            at = format.aligned(at + count * format.entry_bytes(section, features))
        self.texts.begin, self.blobs.begin = offsets["text"], at
        parts = self._sections(features)
        parts["data"], offsets["data"], counts["data"] = bytes(self.blobs.data), at, len(self.blobs.data)
        parts["about"] = self._about()
        offsets["about"], counts["about"] = at + len(parts["data"]), len(parts["about"])
        body = b"".join(part.ljust(format.aligned(len(part)), b"\0") for part in parts.values())
        return self._finished(body, features, offsets, counts)

    def _finished(self, body: bytes, features: int, offsets: Mapping[str, int], counts: Mapping[str, int]) -> bytes:
        """The whole image: the header with its CRC-32, and the body."""
        program, details = self.program, self.details
        arenas = [format.aligned(nbytes) for nbytes in program.arenas]
        values: dict[str, object] = {
            "magic": format.MAGIC,
            "format": format.FORMAT,
            "header_bytes": format.HEADER.nbytes,
            "bytes": format.HEADER.nbytes + len(body),
            "crc": 0,
            "version": details.version,
            "features": features,
            "source": details.source,
            "arena": arenas + [0] * (format.MEMORIES - len(arenas)),
            "states": format.aligned(program.state_bytes),
            "rings": program.rings,
            "counters": program.counters,
            "warm_up": program.warm_up,
            "taps": max((_pointers(i) for i in program.instructions), default=0),
            "inputs": len(program.inputs),
            "outputs": len(program.outputs),
            "words": self.words,
            "product": details.product,
        }
        values |= {f"{section}_offset": at for section, at in offsets.items()}
        values |= {f"{section}_count": count for section, count in counts.items()}
        whole = format.HEADER.pack(values) + body
        return format.HEADER.pack(values | {"crc": zlib.crc32(whole[format.CHECKED_FROM :])}) + body

    def _check_counts(self, counts: Mapping[str, int]) -> None:
        """Refuses a program that exceeds what the format can hold."""
        program = self.program
        named = {
            "steps": counts["schedule"],
            "operations": counts["ops"],
            "operands": counts["operands"],
            "tensors": counts["places"],
            "counters": program.counters,
            "runs of one layer": max((i.times for i in program.instructions), default=0),
            "rows in one step": max((i.group for i in program.instructions), default=0),
            "inputs and outputs": counts["ports"],
        }
        for what, count in named.items():
            if count >= format.MOST_16:
                raise _too_much(f"has {count:,} {what}, and an image holds {format.MOST_16 - 1:,} at most")
        for i in program.instructions:
            if len(i.operands) > format.MOST_OPERANDS:
                raise _too_much(
                    f"takes {len(i.operands)} tensors at once, and a step of an image {format.MOST_OPERANDS} at most",
                    f"layer '{i.name}'",
                )
            if i.others:
                raise _too_much("computes several tensors at once, and a step of an image one", f"layer '{i.name}'")
        if len(program.arenas) > format.MEMORIES:
            raise _too_much(f"is spread over {len(program.arenas)} memories, and an image over {format.MEMORIES}")

    def _features(self) -> Feature:
        program, details = self.program, self.details
        wide = max(self.rows.entries, default=0) > format.MOST_16
        used = {
            Feature.STATES: program.state_bytes > 0,
            Feature.PUSHED: program.pushed,
            Feature.CONTROL: program.jumps,
            Feature.FUSED: details.fused,
            Feature.ALIGNED: details.aligned,
            Feature.WIDE: wide,
            Feature.TRAINS: program.trains,
        }
        return Feature(sum(feature for feature, holds in used.items() if holds))

    def _sections(self, features: int) -> dict[str, bytes]:
        program = self.program
        ports = [self._port(k, port) for k, port in enumerate((*program.inputs, *program.outputs))]
        place = f"<u{format.row_entry_bytes(features)}"
        return {
            "kernels": b"".join(
                format.NEEDED.pack({"id": known.id, "name": self.texts.at(known.name)}) for known in self.records
            ),
            "ports": b"".join(ports),
            "ops": b"".join(map(self._op, program.instructions)),
            "operands": b"".join(map(self._operand, self.operands.entries)),
            "places": b"".join(map(self._place, self.places.entries)),
            "schedule": np.array(program.schedule, "<u2").tobytes(),
            "rows": np.array(self.rows.entries, place).tobytes(),
            "lists": np.array(self.lists.entries, "<i4").tobytes(),
            "states": b"".join(self._initial(state) for state in self._states()),
            "text": bytes(self.texts.data),
        }

    def _port(self, k: int, port: Port) -> bytes:
        tensor, labels = port.tensor, self._labels(k)
        rows = row_count(tensor.shape)
        quantized = tensor.quant is not None and tensor.dtype.integer
        return format.PORT.pack(
            {
                "name": self.texts.at(tensor.name),
                "dtype": format.DTYPES[tensor.dtype],
                "rank": len(tensor.shape),
                "memory": format.NO_MEMORY if port.place is None else port.place.memory,
                "reserved": 0,
                "offset": 0 if port.place is None else port.place.at,
                "bytes": tensor.nbytes,
                "scale": tensor.scale if quantized else 0.0,
                "zero_point": tensor.zero_point if quantized else 0,
                "shape": self.blobs.add(np.array(tensor.shape, "<u4").tobytes()),
                "labels": self.texts.at(labels) if labels else 0,
                "row_bytes": tensor.nbytes // rows,
            }
        )

    def _op(self, i: Instruction) -> bytes:
        scratch, sums = i.scratch, i.sums
        known = None if i.kernel is None else self.records[self.kernel_numbers[record(i.kernel).id]]
        return format.OP.pack(
            {
                "name": self.texts.at(self._name(i)),
                "kernel": format.NO_KERNEL if known is None else self.kernel_numbers[known.id],
                "form": i.form,
                "operands": len(i.operands),
                "params": self._params(i, known),
                "operand": self.operands.add(i.operands),
                "out": format.NO_PLACE if i.out is None else self.places.add((i.out,)),
                "scratch": 0 if scratch is None else scratch.at,
                "sums": 0 if sums is None else sums.at,
                "scratch_memory": format.NO_MEMORY if scratch is None else scratch.memory,
                "sums_memory": format.NO_MEMORY if sums is None else sums.memory,
                "counter": format.NO_COUNTER if i.counter is None else i.counter,
                "lo": i.lo,
                "hi": i.hi,
                "first": i.first,
                "step": i.step,
                "list": self._list(i.listed),
                "times": i.times,
                "group": i.group,
                "last": i.last,
                "scratch_bytes": 0 if scratch is None else scratch.nbytes,
                "sums_bytes": 0 if sums is None else sums.nbytes,
            }
        )

    def _params(self, i: Instruction, known: KernelRecord | None) -> int:
        """Adds the parameters of an op as words, in which pointers are offsets, and returns their offset in the
        image."""
        if known is None or i.kernel is None:
            return 0
        values = words(known.fields, i.kernel.params)
        self.words = max(self.words, len(values))
        alignment = max(known.alignment, format.ALIGNMENT)
        plain = [word if isinstance(word, int) else self._array(word, alignment) for word in values]
        return self.blobs.add(np.array(plain, "<u4").tobytes())

    def _array(self, value: Array | Structs, alignment: int) -> int:
        data = (value.rows & 0xFFFFFFFF).astype("<u4") if isinstance(value, Structs) else value
        return self.blobs.add(_little(data), alignment)

    def _list(self, listed: tuple[int, ...]) -> int:
        return self.lists.add(listed) if listed else format.NO_LIST

    def _operand(self, operand: Operand) -> bytes:
        return format.OPERAND.pack(
            {
                "place": self.places.add((operand.place,)),
                "taps": operand.taps,
                "start": operand.start,
                "step": operand.step,
                "spread": operand.spread,
                "list": self._list(operand.listed),
            }
        )

    def _place(self, place: Place) -> bytes:
        at = place.at
        if place.kind is Kind.TABLE:
            at = self.rows.add(_table(place))
        elif place.memory == IMAGE:
            assert place.constant is not None
            at += self.blobs.add(_little(place.constant.data))
        return format.PLACE.pack(
            {
                "row_bytes": place.row_bytes,
                "rows": place.rows,
                "at": at,
                "memory": place.memory,
                "kind": place.kind,
                "ring": place.ring,
            }
        )

    def _states(self) -> tuple[Initial, ...]:
        """The states; if the program learns, sorted by address."""
        states = self.program.states
        return tuple(sorted(states, key=lambda state: state.at)) if self.program.trains else states

    def _initial(self, state: Initial) -> bytes:
        raw = _little(state.data)
        same = raw == raw[:1] * len(raw)
        values: dict[str, object] = {
            "at": state.at,
            "bytes": len(raw),
            "data": 0 if same else self.blobs.add(raw),
            "fill": raw[0] if same else 0,
        }
        if not self.program.trains:
            return format.INITIAL.pack(values)
        known = {"kind": state.values.kind, "low": state.values.low, "high": state.values.high}
        return format.TRAINED.pack({**values, **known, "role": TrainingRole[state.role.name], "reserved": 0})

    def _about(self) -> bytes:
        if self.details.strip:
            return b""
        return json.dumps(self.details.about, separators=(",", ":"), sort_keys=True).encode()


def _table(place: Place) -> tuple[int, ...]:
    """The entries of a place in the table of row offsets."""
    return tuple((offset or 0) // ALIGNMENT for offset in place.offsets)


def _pointers(i: Instruction) -> int:
    """The number of row pointers that an instruction needs."""
    return sum(o.taps for o in i.operands) + (i.hi if i.form is Form.ROWS else 0)


def _little(data: Array) -> bytes:
    return np.ascontiguousarray(data).astype(data.dtype.newbyteorder("<")).tobytes()


def _too_much(reason: str, where: str = "") -> MoteError:
    remedy = "use `mote compile` for this model, or, where steps are too many, a larger --ram, which has fewer"
    return MoteError(reason, where=where, remedy=remedy)
