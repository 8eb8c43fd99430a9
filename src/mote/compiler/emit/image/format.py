"""The image format as data: records with their fields, used by the writer, the reader and the tables in
`docs/deploy/image-format.md`. `runtime/mote_image.h` defines the same in C.

All numbers are little-endian. Offsets are from the first byte of the image, whose address is a multiple of 8.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from functools import cached_property
from typing import Any

from mote.ir.graph.types import DType

MAGIC = 0x45544F4D
"""The first four bytes of an image, the letters MOTE, as a number."""
BEGINS = MAGIC.to_bytes(4, "little")
FORMAT = 1
SIGNATURE_MAGIC = 0x4E474953
"""The first four bytes of a signature after the image, the letters SIGN, as a number."""
SIGNED = SIGNATURE_MAGIC.to_bytes(4, "little")
ED25519 = 1
"""Number of the signature algorithm."""
ALIGNMENT = 8
"""Sections and arrays begin at multiples of this many bytes."""
CHECKED_FROM = 16
"""Offset of the first byte that the CRC-32 covers."""
MEMORIES = 4
"""Maximum number of memories that an arena is spread over."""
MOST_OPERANDS = 16
"""Maximum number of operands of a step."""
NO_MEMORY = 0xFF
NO_KERNEL = NO_PLACE = NO_COUNTER = 0xFFFF
NO_LIST = 0xFFFFFFFF
RECORD_BYTES = 16 + 16 + 4
"""Bytes of a record of learned weights in addition to the weights: header, MAC and CRC-32."""
MOST_16 = 0xFFFF


class Feature(IntFlag):
    """Features that a runtime must support to run an image."""

    STATES = 1 << 0
    PUSHED = 1 << 1
    CONTROL = 1 << 2
    FUSED = 1 << 3
    ALIGNED = 1 << 4
    WIDE = 1 << 5
    TRAINS = 1 << 6


FEATURES = {
    Feature.STATES: "something is kept from one inference to the next",
    Feature.PUSHED: "the input is handed over row by row",
    Feature.CONTROL: "there are branches or loops",
    Feature.FUSED: "products of float32 are added without being rounded first",
    Feature.ALIGNED: "kernels load words from multiples of four only",
    Feature.WIDE: "places in `rows` take four bytes each instead of two",
    Feature.TRAINS: "it learns on the device: `states` says what each state is for",
}


class TrainingRole(IntEnum):
    """The role of a state in training: the state roles of graphs as numbers."""

    NONE = 0
    LABEL = 1
    TARGET = 2
    LEARNED = 3
    OPTIMIZER = 4
    RATE = 5
    COUNT = 6
    LOSS = 7


ROLES = {
    TrainingRole.NONE: "an inference keeps it for itself",
    TrainingRole.LABEL: "classes of the sample, int32, up to `high`: -1 where nothing is to be learned; one at most",
    TrainingRole.TARGET: "what the output should be; one at most",
    TrainingRole.LEARNED: "weights, class means and the like, which a record of what was learned holds",
    TrainingRole.OPTIMIZER: "moments, sums of gradients, numbers of steps: begun anew with each session of training",
    TrainingRole.RATE: "the learning rate, float32; one at most",
    TrainingRole.COUNT: "samples of the last label's class, int32; one at most",
    TrainingRole.LOSS: "the loss of the last step, float32; one at most",
}

DTYPES = {
    DType.FLOAT32: 0,
    DType.INT32: 2,
    DType.UINT8: 3,
    DType.INT64: 4,
    DType.BOOL: 6,
    DType.INT16: 7,
    DType.COMPLEX64: 8,
    DType.INT8: 9,
    DType.UINT64: 12,
    DType.UINT32: 15,
    DType.UINT16: 16,
}
"""Numbers of element types, equal to those in LiteRT's schema."""

SIZES = {"B": "u8", "H": "u16", "I": "u32", "i": "i32", "f": "f32"}
"""Types of fields: the code of `struct`, and the name in the documentation."""


@dataclass(frozen=True)
class RecordField:
    """A field of a record: a number, or an array of `count` numbers."""

    name: str
    code: str
    """The type of the number, as a code of `struct`."""
    what: str
    count: int = 1

    @property
    def type(self) -> str:
        return SIZES[self.code] + (f"[{self.count}]" if self.count > 1 else "")

    @property
    def nbytes(self) -> int:
        return struct.calcsize(self.code) * self.count


@dataclass(frozen=True)
class ImageRecord:
    """A struct in the image; `name`: its name in C."""

    name: str
    fields: tuple[RecordField, ...]

    @cached_property
    def _struct(self) -> struct.Struct:
        return struct.Struct("<" + "".join(f"{f.count}{f.code}" for f in self.fields))

    @property
    def nbytes(self) -> int:
        return self._struct.size

    @property
    def placed(self) -> Iterator[tuple[int, RecordField]]:
        """The fields with their offsets in the record."""
        at = 0
        for f in self.fields:
            yield at, f
            at += f.nbytes

    def pack(self, values: Mapping[str, Any]) -> bytes:
        """Packs values to bytes; all fields must be given."""
        flat: list[Any] = []
        for f in self.fields:
            value = values[f.name]
            flat += [value] if f.count == 1 else list(value)
        return self._struct.pack(*flat)

    def unpack(self, data: bytes, at: int = 0) -> dict[str, Any]:
        flat = list(self._struct.unpack_from(data, at))
        values: dict[str, Any] = {}
        for f in self.fields:
            values[f.name] = flat[0] if f.count == 1 else tuple(flat[: f.count])
            del flat[: f.count]
        return values


SECTIONS = {
    "kernels": "mote_needed_t: the kernels that the ops call",
    "ports": "mote_port_t: the inputs, then the outputs",
    "ops": "mote_op_t: the operators of the plan, in order, then what bodies of control flow are made of",
    "operands": "mote_operand_t: what ops read",
    "places": "mote_location_t: where tensors lie",
    "schedule": "u16: which op each step runs",
    "rows": "u16, or u32 with feature bit 5: where rows lie that have no common strip, in units of 4 bytes",
    "lists": "i32: rows for which there is no formula",
    "states": "mote_initial_t, or mote_trained_t with feature bit 6: what states hold after a reset",
    "text": "bytes: names, each with a zero byte behind it",
    "data": "bytes: arrays and parameters, each at a multiple of 8",
    "about": "bytes: JSON for tools, which no runtime reads",
}
"""The sections of an image in order, with the type and meaning of their entries."""

HEADER = ImageRecord(
    "mote_header_t",
    (
        RecordField("magic", "I", "0x45544f4d: the letters MOTE"),
        RecordField("format", "H", "1: what this page describes"),
        RecordField("header_bytes", "H", "192"),
        RecordField("bytes", "I", "of the image, without a signature behind it; a multiple of 8"),
        RecordField("crc", "I", "CRC-32 of the bytes from 16 on, as in zlib"),
        RecordField("version", "I", "of the model: updates never go back to a smaller one"),
        RecordField("features", "I", "bits, see below; a runtime refuses what it does not know"),
        RecordField("source", "B", "SHA-256 of the model file", 32),
        RecordField("arena", "I", "bytes of each memory, fastest first; 0: not used", MEMORIES),
        RecordField("states", "I", "bytes that are kept from one inference to the next, a multiple of 8"),
        RecordField("rings", "H", "ring buffers among them"),
        RecordField("counters", "H", "of ops that run several times in an inference"),
        RecordField("warm_up", "H", "inferences before the outputs mean something"),
        RecordField("taps", "H", "the most row pointers of a step, those of output rows included"),
        RecordField("inputs", "H", "how many there are"),
        RecordField("outputs", "H", "how many there are"),
        RecordField("words", "I", "of the largest struct of parameters"),
        *(
            RecordField(f"{name}{part}", "I", what)
            for name in SECTIONS
            for part, what in (("_offset", f"where the section `{name}` begins"), ("_count", "entries in it"))
        ),
        RecordField("product", "I", "the product that it is for, which devices compare with theirs; 0: none"),
    ),
)

NEEDED = ImageRecord(
    "mote_needed_t",
    (
        RecordField("id", "I", "CRC-32 of the kernel's signature"),
        RecordField("name", "I", "offset of its name"),
    ),
)

PORT = ImageRecord(
    "mote_port_t",
    (
        RecordField("name", "I", "offset of the tensor's name"),
        RecordField("dtype", "B", "type of its elements, see below"),
        RecordField("rank", "B", "how many axes it has"),
        RecordField("memory", "B", "where it lies; 0xff: it is handed over row by row"),
        RecordField("reserved", "B", "0"),
        RecordField("offset", "I", "where it begins in that memory"),
        RecordField("bytes", "I", "of all of it"),
        RecordField("scale", "f", "of its quantization; 0: it has none"),
        RecordField("zero_point", "i", "of its quantization"),
        RecordField("shape", "I", "offset of `rank` words"),
        RecordField("labels", "I", "offset of text, a line for each value of the last axis; 0: none"),
        RecordField("row_bytes", "I", "of each of its rows"),
    ),
)

OP = ImageRecord(
    "mote_op_t",
    (
        RecordField("name", "I", "offset of the layer's name"),
        RecordField("kernel", "H", "which of `kernels`; 0xffff: none"),
        RecordField("form", "B", "how it is called, see below"),
        RecordField("operands", "B", "how many there are, at most 16"),
        RecordField("params", "I", "offset of the words of its parameters; 0: none"),
        RecordField("operand", "H", "the first one in `operands`"),
        RecordField("out", "H", "the place of the output; 0xffff: none"),
        RecordField("scratch", "I", "where working memory begins"),
        RecordField("sums", "I", "where running sums begin"),
        RecordField("scratch_memory", "B", "in which memory; 0xff: there is none"),
        RecordField("sums_memory", "B", "in which memory; 0xff: there are none"),
        RecordField("counter", "H", "which counter says n; 0xffff: none, n is always 0"),
        RecordField("lo", "i", "WHOLE, EACH: the first row; jumps: the step to go on with"),
        RecordField("hi", "i", "WHOLE, EACH: behind the last row, or units; ROWS: most rows at once; COPY: bytes"),
        RecordField("first", "i", "y for n = 0"),
        RecordField("step", "i", "by how much y grows with n"),
        RecordField("list", "I", "where the values of y begin in `lists`; 0xffffffff: they follow from first and step"),
        RecordField("times", "H", "how often it runs in an inference: n is 0 to times - 1"),
        RecordField(
            "group", "H", "rows that are computed each time: at most 64, or a 256th of those that the output has"
        ),
        RecordField("last", "i", "behind the last row that is computed"),
        RecordField("scratch_bytes", "I", "of working memory"),
        RecordField("sums_bytes", "I", "of running sums"),
    ),
)

OPERAND = ImageRecord(
    "mote_operand_t",
    (
        RecordField("place", "H", "where the tensor lies"),
        RecordField("taps", "H", "rows that are read for an output row; 0: all of the tensor at once"),
        RecordField("start", "i", "tap k of row y is row start + y * step + k * spread"),
        RecordField("step", "i", "by how many rows y moves the window"),
        RecordField("spread", "i", "how many rows lie between taps, and 1"),
        RecordField(
            "list", "I", "or lists[list + n * taps + k], with y for n where group > 1; 0xffffffff: by the formula"
        ),
    ),
)

PLACE = ImageRecord(
    "mote_location_t",
    (
        RecordField("row_bytes", "I", "of each row"),
        RecordField("rows", "I", "how many there are; others are outside of the image"),
        RecordField("at", "I", "where row 0 is; of a table, where it begins in `rows`"),
        RecordField("memory", "B", "0 to 3: the arenas; 0x10: the states; 0x11: the image"),
        RecordField("kind", "B", "0: rows one after another, 1: a table, 2: a ring buffer"),
        RecordField("ring", "H", "which ring buffer it is"),
    ),
)

INITIAL = ImageRecord(
    "mote_initial_t",
    (
        RecordField("at", "I", "where it lies among the states"),
        RecordField("bytes", "I", "how many"),
        RecordField("data", "I", "offset of what it holds; 0: bytes that are all the same"),
        RecordField("fill", "I", "that byte"),
    ),
)

TRAINED = ImageRecord(
    "mote_trained_t",
    (
        RecordField("at", "I", "where it lies among the states, behind the one before"),
        RecordField("bytes", "I", "how many"),
        RecordField("low", "i", "the least value, of kinds 3 and 4"),
        RecordField("high", "i", "the largest value, of kinds 3 and 4 and of labels"),
        RecordField("kind", "B", "the values of what is learned, see below"),
        RecordField("role", "B", "what it is for, see below"),
        RecordField("reserved", "H", "0"),
        RecordField("data", "I", "offset of what it holds; 0: bytes that are all the same"),
        RecordField("fill", "I", "that byte"),
    ),
)

SIGNATURE = ImageRecord(
    "mote_signature_t",
    (
        RecordField("magic", "I", "0x4e474953: the letters SIGN"),
        RecordField("algorithm", "I", "1: Ed25519"),
        RecordField("key", "B", "the first bytes of the SHA-512 of the public key", 8),
        RecordField("signature", "B", "of the bytes of the image", 64),
    ),
)

ENTRIES = {
    "kernels": NEEDED,
    "ports": PORT,
    "ops": OP,
    "operands": OPERAND,
    "places": PLACE,
    "states": INITIAL,
}
"""The sections that consist of records, with the record type."""
ENTRY_BYTES = {name: record.nbytes for name, record in ENTRIES.items()} | {
    "schedule": 2,
    "lists": 4,
    "text": 1,
    "data": 1,
    "about": 1,
}
"""Bytes per entry of each section; those of `rows` and `states` depend on the image's features (`entry_bytes`)."""


def row_entry_bytes(features: int) -> int:
    return 4 if features & Feature.WIDE else 2


def state_record(features: int) -> ImageRecord:
    return TRAINED if features & Feature.TRAINS else INITIAL


def entry_bytes(section: str, features: int) -> int:
    if section == "states":
        return state_record(features).nbytes
    return row_entry_bytes(features) if section == "rows" else ENTRY_BYTES[section]


def aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
