"""Small images that are made by hand, field by field, for the kernels of `handmade.c`: one has every form of an op."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mote.compiler.emit.image import format
from mote.compiler.emit.image.format import Feature, TrainingRole
from mote.compiler.lower.program import Form, Kind
from mote.compiler.lower.values import Values

PLUS, WINDOW, TOTAL, RING = range(4)
"""The kernels, by their places in an image."""
IDS = {"plus": 10, "window": 20, "total": 30, "ring": 40}
STATES = 0x10
CONTENTS = 0x11
"""The memories of states, and of the image itself."""


@dataclass
class Handmade:
    """What an image is made of: fields that are not named are zero, or none."""

    features: int = 0
    arena: tuple[int, ...] = (0, 0, 0, 0)
    state_bytes: int = 0
    rings: int = 0
    counters: int = 0
    warm_up: int = 0
    taps: int = 8
    words: int = 3
    ports: list[dict[str, Any]] = field(default_factory=list)
    inputs: int = 1
    ops: list[dict[str, Any]] = field(default_factory=list)
    operands: list[dict[str, Any]] = field(default_factory=list)
    places: list[dict[str, Any]] = field(default_factory=list)
    schedule: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    lists: list[int] = field(default_factory=list)
    states: list[dict[str, Any]] = field(default_factory=list)
    text: bytearray = field(default_factory=bytearray)
    data: bytearray = field(default_factory=bytearray)
    kernels: dict[str, int] = field(default_factory=lambda: dict(IDS))
    _offsets: dict[str, int] = field(default_factory=dict)

    def place(self, row_bytes: int, rows: int, at: int, memory: int = 0, **more: int) -> int:
        self.places.append({"row_bytes": row_bytes, "rows": rows, "at": at, "memory": memory} | more)
        return len(self.places) - 1

    def op(
        self, form: Form, name: str, operands: Sequence[dict[str, Any]] = (), params: Sequence[int] = (), **more: Any
    ) -> int:
        """An op with operands and the words of its parameters."""
        given = {"operand": len(self.operands), "operands": len(operands), "params": self.put(np.array(params, "<u4"))}
        self.operands += operands
        none = {"scratch_memory": format.NO_MEMORY, "sums_memory": format.NO_MEMORY, "counter": format.NO_COUNTER}
        usual = {"list": format.NO_LIST, "times": 1, "group": 1, "kernel": format.NO_KERNEL, "out": format.NO_PLACE}
        self.ops.append(usual | none | given | {"form": form, "name": name} | more)
        return len(self.ops) - 1

    def put(self, values: np.ndarray) -> int:
        """The place of data, counted from the first byte of it."""
        at = len(self.data)
        raw = values.tobytes()
        self.data += raw.ljust(format.aligned(len(raw)), b"\0")
        return at

    def port(self, name: str, shape: Sequence[int], memory: int, offset: int, **more: Any) -> None:
        """An int8 input or output."""
        nbytes = int(np.prod(shape))
        given = {"name": name, "dtype": 9, "rank": len(shape), "memory": memory, "offset": offset, "bytes": nbytes}
        self.ports.append(
            given | {"shape": self.put(np.array(shape, "<u4")), "row_bytes": shape[-1], "scale": 0.5} | more
        )

    def image(self) -> bytes:
        """The bytes."""
        names = [*self.kernels, *(record["name"] for record in (*self.ops, *self.ports)), "one\ntwo"]
        texts = dict.fromkeys(names, 0)
        for name in texts:
            texts[name] = len(self.text)
            self.text += name.encode() + b"\0"
        counts = {name: len(getattr(self, name)) for name in format.SECTIONS if name not in ("about", "data")}
        at = format.HEADER.nbytes
        for section, count in counts.items():
            self._offsets[section] = at
            at = format.aligned(at + count * format.entry_bytes(section, self.features))
        self._offsets |= {"data": at, "about": at + len(self.data)}
        named = {name: texts[name] + self._offsets["text"] for name in texts}

        def pack(record: format.ImageRecord, values: dict[str, Any], *moved: str) -> bytes:
            known = {f.name: 0 for f in record.fields} | values
            known |= {"name": named[values["name"]]} if "name" in values else {}
            known |= {name: known[name] + self._offsets["data"] for name in moved}
            return record.pack(known)

        wide = "<u4" if self.features & Feature.WIDE else "<u2"
        parts = {
            "kernels": b"".join(pack(format.NEEDED, {"id": i, "name": name}) for name, i in self.kernels.items()),
            "ports": b"".join(pack(format.PORT, p | {"labels": named["one\ntwo"]}, "shape") for p in self.ports),
            "ops": b"".join(pack(format.OP, op, "params") for op in self.ops),
            "operands": b"".join(pack(format.OPERAND, {"list": format.NO_LIST} | o) for o in self.operands),
            "places": b"".join(pack(format.PLACE, p, *["at"] * (p["memory"] == CONTENTS)) for p in self.places),
            "schedule": np.array(self.schedule, "<u2").tobytes(),
            "rows": np.array(self.rows, wide).tobytes(),
            "lists": np.array(self.lists, "<i4").tobytes(),
            "states": b"".join(
                pack(format.state_record(self.features), i, *["data"] * ("data" in i)) for i in self.states
            ),
            "text": bytes(self.text),
            "data": bytes(self.data),
        }
        self._point(parts)
        body = b"".join(part.ljust(format.aligned(len(part)), b"\0") for part in parts.values())
        head: dict[str, Any] = {f.name: 0 for f in format.HEADER.fields}
        head |= {"magic": format.MAGIC, "format": 1, "header_bytes": 192, "source": [0] * 32, "arena": self.arena}
        head |= {name: getattr(self, name) for name in ("features", "rings", "counters", "warm_up", "taps", "words")}
        head |= {
            "inputs": self.inputs,
            "outputs": len(self.ports) - self.inputs,
            "bytes": 192 + len(body),
            "states": self.state_bytes,
        }
        head |= {f"{section}_offset": at for section, at in self._offsets.items()}
        head |= {f"{section}_count": count for section, count in counts.items()} | {"data_count": len(self.data)}
        return with_crc(format.HEADER.pack(head) + body)

    def _point(self, parts: dict[str, bytes]) -> None:
        """The first parameter of PLUS is a pointer: it is counted from the first byte of the data until here."""
        data = bytearray(parts["data"])
        for op in self.ops:
            if op["kernel"] == PLUS:
                (at,) = struct.unpack_from("<I", data, op["params"])
                struct.pack_into("<I", data, op["params"], at + self._offsets["data"])
        parts["data"] = bytes(data)


def with_crc(image: bytes) -> bytes:
    return image[:12] + struct.pack("<I", zlib.crc32(image[16:])) + image[16:]


def patched(image: bytes, section: str, index: int, **values: int) -> bytes:
    """An image with other numbers in a record; in a section of numbers, `value`."""
    head = format.HEADER.unpack(image)
    if section == "header":
        return with_crc(format.HEADER.pack(head | values) + image[192:])
    begin = head[f"{section}_offset"] + index * format.entry_bytes(section, head["features"])
    if section in format.ENTRIES:
        record = format.state_record(head["features"]) if section == "states" else format.ENTRIES[section]
        new = record.pack(record.unpack(image, begin) | values)
    else:
        codes = {
            "schedule": "<H",
            "rows": "<I" if head["features"] & Feature.WIDE else "<H",
            "lists": "<i",
            "text": "<B",
        }
        new = struct.pack(codes.get(section, "<I"), values["value"])
    return with_crc(image[:begin] + new + image[begin + len(new) :])


def patched_params(image: bytes, op: int, word: int, value: int) -> bytes:
    """An image with another parameter of a kernel."""
    head = format.HEADER.unpack(image)
    params = format.OP.unpack(image, head["ops_offset"] + op * format.OP.nbytes)["params"]
    at = params + 4 * word
    return with_crc(image[:at] + struct.pack("<I", value & 0xFFFFFFFF) + image[at + 4 :])


TABLE = np.array([3, 1, 4, 1, 5], np.int8)
WIDTH, ROWS = 4, 8


def every_form(features: int = 0) -> Handmade:
    """Eight rows of four, through every form but ARRIVAL: see `expected`."""
    h = Handmade(
        features | Feature.STATES | Feature.CONTROL, (256, 64, 0, 0), state_bytes=24, rings=1, counters=6, warm_up=2
    )
    table = h.put(TABLE)
    a = h.place(WIDTH, ROWS, 0)
    b = h.place(WIDTH, ROWS, 32)
    h.rows = [(64 + 4 * (5 * y % ROWS)) // 4 for y in range(ROWS)]
    c = h.place(WIDTH, ROWS, 0, kind=Kind.TABLE)
    d = h.place(WIDTH, ROWS, 96)
    e = h.place(WIDTH, ROWS, 128)
    f = h.place(WIDTH, 1, 160)
    ring = h.place(WIDTH, 3, 8, STATES, kind=Kind.RING)
    g = h.place(WIDTH, 3, 164)
    out = h.place(12, 1, 176)
    flag = h.place(1, 1, 0, STATES)
    fixed = h.put(np.arange(12, dtype=np.int8))
    constant = h.place(12, 1, fixed, CONTENTS)
    h.place(4, 1, 0)  # nobody's
    scratch = {"scratch_memory": 1, "scratch": 8, "scratch_bytes": 16}
    h.states = [{"at": 0, "bytes": 8}, {"at": 8, "bytes": 12, "data": h.put(np.arange(12, dtype=np.uint8))}]
    h.lists = [*range(ROWS - 1, -1, -1), *range(ROWS)]
    window = {"taps": 3, "start": -1, "step": 1, "spread": 1}
    ops = [
        h.op(Form.WHOLE, "first", [{"place": a}], [table, 5, 7], kernel=PLUS, out=b, hi=32),
        h.op(
            Form.ROW,
            "rows",
            [{"place": b} | window],
            [4, 3],
            kernel=WINDOW,
            out=c,
            counter=0,
            times=8,
            step=1,
            **scratch,
        ),
        h.op(
            Form.EACH,
            "each",
            [{"place": c, "taps": 1, "list": 8}],
            [table, 3, 1],
            kernel=PLUS,
            out=d,
            counter=1,
            times=8,
            list=0,
            hi=4,
        ),
        h.op(
            Form.ROWS,
            "several",
            [{"place": d, "taps": 4, "start": -1, "step": 1, "spread": 1}],
            [4, 3],
            kernel=WINDOW,
            out=e,
            counter=2,
            times=3,
            step=3,
            group=3,
            last=8,
            hi=2,
            **scratch,
        ),
        h.op(
            Form.SUMS,
            "sums",
            [{"place": e, "taps": 1, "step": 1}],
            [4],
            kernel=TOTAL,
            out=f,
            counter=3,
            times=8,
            step=1,
            sums_memory=1,
            sums=24,
            sums_bytes=16,
        ),
        h.op(Form.RING, "ring", [{"place": f}], [3, 1, 4], kernel=RING, out=ring),
        h.op(
            Form.ROW,
            "ring rows",
            [{"place": ring, "taps": 3, "start": -1, "step": 1, "spread": 1}],
            [4, 3],
            kernel=WINDOW,
            out=g,
            counter=4,
            times=3,
            step=1,
            **scratch,
        ),
        h.op(Form.COPY, "copy", [{"place": g}], out=out, hi=12),
        h.op(Form.WHOLE, "again", [{"place": out}], [table, 1, 2], kernel=PLUS, out=out, hi=12),
        h.op(Form.REPEAT, "repeat", counter=5, times=3, lo=33),
        h.op(Form.BRANCH, "branch", [{"place": flag}], lo=37),
        h.op(Form.WHOLE, "constant", [{"place": constant}], [table, 1, 0], kernel=PLUS, out=out, hi=12),
        h.op(Form.JUMP, "jump", lo=39),
    ]
    assert ops == list(range(len(ops)))
    h.operands += [{}] * (20 - len(h.operands))
    body = [1] * 8 + [2] * 8 + [3] * 3 + [4] * 8
    h.schedule = [0, *body, 5, 6, 6, 6, 7, 8, 9, 10, 11, 12, 11]
    h.port("input", (1, ROWS, WIDTH), 0, 0)
    h.port("output", (12,), 0, 176)
    return h


def expected(given: np.ndarray, kept: list[np.ndarray], flag: int = 0) -> np.ndarray:
    """What `every_form` computes, from 8 x 4 bytes and the rows that its ring buffer holds, oldest first."""

    def plus(x: np.ndarray, size: int, add: int) -> np.ndarray:
        return x + np.resize(TABLE[:size].astype(np.uint8), x.shape) + np.uint8(add)

    def window(x: np.ndarray, numbered: bool) -> np.ndarray:
        """Three rows around each."""
        padded = np.pad(x, ((1, 1), (0, 0)))
        sums = sum(np.uint8(k + 1) * padded[k : k + len(x)] for k in range(3))
        return np.asarray(sums + np.arange(len(x), dtype=np.uint8)[:, None] * np.uint8(numbered))

    b = plus(given.reshape(-1), 5, 7).reshape(ROWS, WIDTH)
    c = window(b, True)
    d = np.stack([plus(c[ROWS - 1 - y], 3, 1) for y in range(ROWS)])
    e = window(d, False)
    f = sum(np.uint8(y + 1) * e[y] for y in range(ROWS))
    kept[:] = [*kept[1:], np.asarray(f)]
    out = window(np.stack(kept), True).reshape(-1)
    for _ in range(3):
        out = plus(out, 1, 2)
    return plus(np.arange(12, dtype=np.uint8), 1, 0) if flag else out


def copying(kernel: int, apart: int) -> bytes:
    """The kernel `copy`, known by this id, for 32 bytes to so many bytes behind them."""
    h = Handmade(0, (256, 0, 0, 0), kernels={"unused": kernel, "copy": kernel}, taps=1, words=1)
    given, out = h.place(WIDTH, ROWS, 64), h.place(WIDTH, ROWS, 64 + apart)
    h.op(Form.WHOLE, "copy", [{"place": given}], [WIDTH * ROWS], kernel=1, out=out)
    h.schedule = [0]
    h.port("input", (1, ROWS, WIDTH), 0, 64)
    h.port("output", (1, ROWS, WIDTH), 0, 64 + apart)
    return h.image()


def pushed() -> Handmade:
    """Rows of four that are handed over, four of them, each plus something; the first inference means nothing."""
    h = Handmade(Feature.PUSHED, (64, 0, 0, 0), counters=2)
    table = h.put(TABLE)
    a, out = h.place(WIDTH, 4, 0), h.place(WIDTH, 4, 16)
    h.op(Form.ARRIVAL, "input", out=a, counter=0, times=4, step=1)
    each = {"place": a, "taps": 1, "step": 1}
    h.op(Form.EACH, "each", [each], [table, 5, 7], kernel=PLUS, out=out, counter=1, times=4, step=1, hi=4)
    h.schedule = [0, 1, 0, 1, 0, 0, 1, 1]
    h.port("input", (1, 4, WIDTH), format.NO_MEMORY, 0)
    h.port("output", (1, 4, WIDTH), 0, 16)
    return h


LOSS = 0.75
"""What every step of `training` gives as its loss."""


def training() -> Handmade:
    """Eight bytes plus a table; where there is a label, which can only be 0, the table is added to twelve bytes that
    are learned, too, and a constant is the loss."""
    features = Feature.STATES | Feature.CONTROL | Feature.TRAINS
    h = Handmade(features, (64, 0, 0, 0), state_bytes=40)
    table = h.put(TABLE)
    given, out = h.place(8, 1, 0), h.place(8, 1, 8)
    label, weights, loss = h.place(4, 1, 0, STATES), h.place(12, 1, 8, STATES), h.place(4, 1, 28, STATES)
    none = h.place(4, 1, h.put(np.array([-1], "<i4")), CONTENTS)
    said = h.place(4, 1, h.put(np.array([LOSS], "<f4")), CONTENTS)
    h.states = [
        {"at": 0, "bytes": 4, "role": TrainingRole.LABEL, "fill": 0xFF},
        {"at": 8, "bytes": 12, "role": TrainingRole.LEARNED, "kind": Values.INT8, "low": -90, "high": 90},
        {
            "at": 20,
            "bytes": 4,
            "role": TrainingRole.LEARNED,
            "kind": Values.FLOAT,
            "data": h.put(np.array([1.5], "<f4")),
        },
        {"at": 24, "bytes": 4, "role": TrainingRole.RATE, "data": h.put(np.array([0.5], "<f4"))},
        {"at": 28, "bytes": 4, "role": TrainingRole.LOSS},
        {"at": 32, "bytes": 4, "role": TrainingRole.COUNT},
        {"at": 36, "bytes": 4, "role": TrainingRole.OPTIMIZER},
    ]
    h.op(Form.WHOLE, "first", [{"place": given}], [table, 5, 7], kernel=PLUS, out=out, hi=8)
    h.op(Form.BRANCH, "labelled", [{"place": label}], lo=3)
    h.op(Form.JUMP, "not labelled", lo=6)
    h.op(Form.WHOLE, "learn", [{"place": weights}], [table, 5, 0], kernel=PLUS, out=weights, hi=12)
    h.op(Form.COPY, "loss", [{"place": said}], out=loss, hi=4)
    h.op(Form.COPY, "label", [{"place": none}], out=label, hi=4)
    h.schedule = [0, 1, 2, 3, 4, 5]
    h.port("input", (1, 2, 4), 0, 0)
    h.port("output", (1, 2, 4), 0, 8)
    return h
