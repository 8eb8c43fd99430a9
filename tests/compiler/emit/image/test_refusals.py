"""Images that are wrong in one thing are refused for it, by name; those that are just right are not."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import numpy as np

from mote.bench.execute.host_runtime import ArenaNeeds
from mote.compiler.emit.image import format
from mote.compiler.emit.image.format import Feature, TrainingRole
from mote.compiler.lower.values import Values
from tests.compiler.emit.image.c_runtime import BAD_IMAGE, NO_KERNEL, OK, SOURCES, UNSUPPORTED, Library, Model, built
from tests.compiler.emit.image.handmade import every_form, patched, patched_params, pushed, training

HERE = Path(__file__).parent
BASES = {
    "every": every_form().image(),
    "wide": every_form(Feature.WIDE).image(),
    "pushed": pushed().image(),
    "training": training().image(),
    "large": patched(every_form().image(), "header", 0, arena=((1 << 24) + 1024, 64, 0, 0)),
}
SIZE = len(BASES["every"])
FIRST, BY_ROWS, EACH, SEVERAL, SUMS, RING, RING_ROWS, COPY, AGAIN, REPEAT, BRANCH, CONSTANT, JUMP = range(13)
"""The ops of `every_form`."""
A, B, C, D, E, F, THE_RING, G, OUT, FLAG, FIXED, SPARE = range(12)
"""Its places."""
LABEL, WEIGHTS, _, RATE, _, _, LAST = range(7)
"""States of `training`."""
HEAD = format.HEADER.unpack(BASES["every"])
TEXT = HEAD["text_offset"]
SHAPE = format.PORT.unpack(BASES["every"], HEAD["ports_offset"])["shape"]
PARAMS = format.OP.unpack(BASES["every"], HEAD["ops_offset"])["params"]
PUSHED_TEXT = format.HEADER.unpack(BASES["pushed"])["text_offset"]
"""Letters, which are large numbers."""
MUCH = 0xFFFFFFFF


def work(memory: int, at: int, nbytes: int) -> dict[str, int]:
    return {"scratch_memory": memory, "scratch": at, "scratch_bytes": nbytes}


Change = tuple[str, int, dict[str, int]]
WRONG: list[tuple[str, str, Change]] = [
    ("no image", "every", ("header", 0, {"magic": 0x45544F4C})),
    ("unknown format or feature", "every", ("header", 0, {"format": 2})),
    ("unknown format or feature", "every", ("header", 0, {"features": HEAD["features"] | 1 << 7})),
    ("image is cut off", "every", ("header", 0, {"bytes": SIZE + 8})),
    ("image is cut off", "every", ("header", 0, {"header_bytes": 200})),
    *(
        ("section", "every", ("header", 0, {f"{name}_{part}": value}))
        for name in format.SECTIONS
        for part, value in (
            ("offset", HEAD[f"{name}_offset"] + 4),
            ("offset", SIZE + 8),
            ("count", SIZE + 1),
            ("count", MUCH),
        )
    ),
    ("section", "wide", ("header", 0, {"rows_count": (SIZE - HEAD["rows_offset"]) // 2})),
    ("text", "every", ("text", HEAD["text_count"] - 1, {"value": 65})),
    ("text", "every", ("header", 0, {"text_count": 0})),
    ("input or output", "every", ("header", 0, {"outputs": 2})),
    ("size of memory", "every", ("header", 0, {"arena": (1 << 31, 64, 0, 0)})),
    ("size of memory", "every", ("header", 0, {"arena": (256, 64, 0, MUCH)})),
    ("size of memory", "every", ("header", 0, {"states": 28})),
    ("size of memory", "every", ("header", 0, {"states": MUCH - 7})),
    ("too large for this runtime", "every", ("header", 0, {"taps": 33})),
    ("too large for this runtime", "every", ("header", 0, {"words": 65})),
    ("name", "every", ("kernels", 0, {"name": TEXT - 1})),
    ("name", "every", ("kernels", 0, {"name": TEXT + HEAD["text_count"]})),
    ("kernel is missing", "every", ("kernels", 1, {"id": 21})),
    ("kernel is missing", "every", ("kernels", 1, {"id": 51})),
    ("too large for this runtime", "every", ("kernels", 1, {"id": 50})),
    ("input or output", "every", ("ports", 0, {"dtype": 1, "bytes": 0})),
    ("input or output", "every", ("ports", 0, {"dtype": 25})),
    ("input or output", "every", ("ports", 1, {"name": TEXT - 1})),
    ("input or output", "every", ("ports", 1, {"labels": TEXT - 1})),
    ("input or output", "every", ("ports", 0, {"rank": 0, "bytes": 1, "shape": SHAPE + 2})),
    ("input or output", "every", ("ports", 0, {"rank": 0, "bytes": 1, "shape": SIZE + 8})),
    ("input or output", "every", ("ports", 0, {"shape": SIZE - 8})),
    ("input or output", "every", ("ports", 0, {"dtype": 0, "bytes": 128, "offset": 2})),
    ("input or output", "pushed", ("ports", 0, {"shape": PUSHED_TEXT, "bytes": MUCH})),
    ("input or output", "every", ("ports", 0, {"bytes": 31})),
    ("input or output", "every", ("ports", 1, {"offset": 256 - 11})),
    ("input or output", "every", ("ports", 1, {"memory": 2})),
    ("input or output", "every", ("ports", 1, {"memory": 0x10, "offset": 16})),
    ("input or output", "every", ("ports", 1, {"memory": 0x12})),
    ("input or output", "every", ("ports", 0, {"memory": format.NO_MEMORY})),
    ("input or output", "every", ("ports", 0, {"memory": 0x11})),
    ("input or output", "pushed", ("ports", 0, {"memory": 0})),
    ("place of a tensor", "large", ("places", OUT, {"rows": (1 << 24) + 1, "row_bytes": 1})),
    ("place of a tensor", "every", ("places", OUT, {"rows": 2, "row_bytes": 0})),
    ("place of a tensor", "every", ("places", OUT, {"at": 248})),
    ("place of a tensor", "every", ("places", B, {"at": 34})),
    ("place of a tensor", "every", ("places", B, {"rows": 1 << 20, "row_bytes": 1 << 12})),
    ("place of a tensor", "every", ("places", OUT, {"memory": 3})),
    ("place of a tensor", "every", ("places", OUT, {"memory": 0xFF})),
    ("place of a tensor", "every", ("places", FIXED, {"at": SIZE - 8})),
    ("place of a tensor", "every", ("places", OUT, {"kind": 3})),
    ("place of a tensor", "every", ("places", C, {"at": 1})),
    ("place of a tensor", "every", ("rows", 3, {"value": 64})),
    ("place of a tensor", "wide", ("rows", 3, {"value": 64})),
    ("place of a tensor", "every", ("places", THE_RING, {"ring": 1})),
    ("place of a tensor", "every", ("places", THE_RING, {"rows": 0})),
    ("place of a tensor", "large", ("places", THE_RING, {"rows": 1 << 16, "row_bytes": 1, "memory": 0})),
    ("place of a tensor", "every", ("places", FLAG, {"kind": 2, "rows": 2})),
    ("state", "every", ("states", 1, {"at": 16})),
    ("state", "every", ("states", 1, {"data": SIZE - 8})),
    ("state", "training", ("states", WEIGHTS, {"at": 32})),
    ("state", "training", ("states", WEIGHTS, {"at": 3})),
    ("state", "training", ("states", WEIGHTS, {"bytes": 13})),
    ("state", "training", ("states", WEIGHTS, {"bytes": MUCH})),
    ("state", "training", ("states", WEIGHTS, {"role": 8})),
    ("state", "training", ("states", WEIGHTS, {"role": TrainingRole.NONE})),
    ("state", "training", ("states", WEIGHTS, {"kind": 0})),
    ("state", "training", ("states", WEIGHTS, {"kind": 5})),
    ("state", "training", ("states", WEIGHTS, {"bytes": 11, "kind": Values.INT32})),
    ("state", "training", ("states", WEIGHTS, {"bytes": 11, "kind": Values.FLOAT})),
    ("state", "training", ("states", LABEL, {"bytes": 5})),
    ("state", "training", ("states", LABEL, {"kind": 1})),
    ("state", "training", ("states", RATE, {"bytes": 3})),
    ("state", "training", ("states", RATE, {"role": TrainingRole.LABEL})),
    ("state", "training", ("states", LAST, {"role": TrainingRole.COUNT})),
    ("state", "training", ("states", LAST, {"bytes": 5})),
    ("name", "every", ("ops", FIRST, {"name": TEXT - 1})),
    ("form", "every", ("ops", JUMP, {"form": 11})),
    ("form", "every", ("ops", FIRST, {"times": 0})),
    ("form", "every", ("ops", FIRST, {"group": 0})),
    ("counter", "every", ("ops", FIRST, {"counter": 6})),
    ("counter", "every", ("ops", FIRST, {"counter": 5})),
    ("rows", "every", ("ops", BY_ROWS, {"first": -1})),
    ("rows", "every", ("ops", BY_ROWS, {"step": (1 << 31) - 1})),
    ("rows", "every", ("ops", BY_ROWS, {"step": -(1 << 31)})),
    ("rows", "every", ("ops", EACH, {"list": 9})),
    ("rows", "every", ("lists", 3, {"value": -1})),
    ("rows", "every", ("lists", 3, {"value": (1 << 24) + 1})),
    ("rows", "every", ("ops", SEVERAL, {"last": 0})),
    ("operands", "every", ("ops", FIRST, {"operand": 20})),
    ("operands", "every", ("ops", FIRST, {"operands": 17})),
    ("operands", "every", ("ops", SEVERAL, {"hi": 0})),
    ("operands", "every", ("ops", SEVERAL, {"hi": -1})),
    ("operands", "every", ("ops", SEVERAL, {"hi": 29})),
    ("operand", "every", ("operands", FIRST, {"place": 12})),
    ("operand in pieces", "every", ("operands", FIRST, {"place": C})),
    ("operand in pieces", "every", ("operands", FIRST, {"place": THE_RING})),
    ("operand in pieces", "every", ("operands", COPY, {"place": C})),
    ("operand in pieces", "every", ("operands", 9 - 1, {"place": THE_RING})),
    ("rows of an operand", "every", ("operands", BY_ROWS, {"taps": 0})),
    ("rows of an operand", "every", ("operands", BY_ROWS, {"taps": 33})),
    ("rows of an operand", "every", ("operands", BY_ROWS, {"start": (1 << 31) - 1})),
    ("rows of an operand", "every", ("operands", BY_ROWS, {"spread": -(1 << 31)})),
    ("rows of an operand", "every", ("operands", BY_ROWS, {"step": (1 << 31) - 1})),
    ("rows of an operand", "every", ("operands", EACH, {"list": 9})),
    ("rows of an operand", "every", ("operands", EACH, {"taps": 2, "list": 0})),
    ("rows of an operand", "every", ("lists", 8 + 7, {"value": 8})),
    ("rows of an operand", "every", ("lists", 8, {"value": -1})),
    ("rows of an operand", "every", ("operands", SUMS, {"start": 1})),
    ("rows of an operand", "every", ("operands", SUMS, {"start": -1})),
    ("output", "every", ("ops", FIRST, {"out": 12})),
    ("rows of the output", "every", ("ops", FIRST, {"out": FIXED, "hi": 12})),
    ("rows of the output", "every", ("ops", FIRST, {"out": C})),
    ("rows of the output", "every", ("ops", BY_ROWS, {"first": 1})),
    ("rows of the output", "every", ("ops", SEVERAL, {"last": 9})),
    ("rows of the output", "every", ("ops", RING, {"out": G})),
    ("rows of the output", "every", ("ops", SUMS, {"out": THE_RING})),
    ("rows of the output", "pushed", ("ops", 0, {"first": 1})),
    ("rows in one step", "every", ("ops", SEVERAL, {"group": 65})),
    ("rows in one step", "every", ("ops", SEVERAL, {"group": MUCH >> 16, "hi": 8})),
    ("kernel", "every", ("ops", FIRST, {"kernel": 4})),
    ("call", "every", ("ops", FIRST, {"kernel": 1})),
    ("call", "every", ("ops", FIRST, {"operands": 0})),
    ("call", "every", ("ops", FIRST, {"operands": 2})),
    ("working memory", "every", ("ops", BY_ROWS, {"scratch": 52})),
    ("working memory", "every", ("ops", BY_ROWS, {"scratch": 10})),
    ("working memory", "every", ("ops", BY_ROWS, {"scratch_bytes": 57})),
    ("working memory", "every", ("ops", BY_ROWS, {"scratch_memory": 0x10})),
    ("working memory", "every", ("ops", BY_ROWS, {"scratch_memory": 0x11})),
    ("working memory", "every", ("ops", SUMS, {"sums": 52})),
    ("working memory", "every", ("ops", SUMS, {"sums": 26})),
    ("working memory overlaps", "every", ("ops", SUMS, work(1, 16, 12))),
    ("working memory overlaps", "every", ("ops", SUMS, work(0, 160, 4))),
    ("working memory overlaps", "every", ("ops", FIRST, work(0, 60, 8))),
    ("parameters", "every", ("ops", BY_ROWS, {"params": PARAMS + 2})),
    ("parameters", "every", ("ops", FIRST, {"params": SIZE - 8})),
    ("parameters do not fit", "every", ("ops", FIRST, {"hi": 33})),
    ("pushed row", "every", ("ops", BY_ROWS, {"form": 6})),
    ("pushed row", "pushed", ("ports", 0, {"row_bytes": 8})),
    ("pushed row", "pushed", ("schedule", 0, {"value": 1})),
    ("pushed row", "pushed", ("header", 0, {"schedule_count": 0})),
    ("copy", "every", ("ops", COPY, {"hi": 13})),
    ("copy", "every", ("ops", COPY, {"hi": -1})),
    ("copy", "every", ("ops", COPY, {"operands": 0})),
    ("jump", "every", ("ops", JUMP, {"lo": 40})),
    ("jump", "every", ("ops", JUMP, {"lo": -1})),
    ("jump", "every", ("ops", BRANCH, {"operands": 0})),
    ("jump", "every", ("ops", REPEAT, {"counter": format.NO_COUNTER})),
    ("jump", "every", ("header", 0, {"features": Feature.STATES})),
    ("schedule", "every", ("schedule", 0, {"value": 13})),
]  # fmt: skip
RIGHT: list[tuple[str, Change]] = [
    ("every", ("places", SPARE, {"row_bytes": 0})),
    ("every", ("ports", 0, {"dtype": 0, "bytes": 128, "offset": 4})),
    ("every", ("ops", SEVERAL, work(0, 128, 16))),
    ("every", ("ops", FIRST, {"lo": 9} | work(0, 60, 16))),
    ("every", ("ops", SUMS, work(0, 24, 16))),
    ("large", ("places", OUT, {"rows": 1 << 24, "row_bytes": 1})),
    ("every", ("header", 0, {"version": MUCH, "product": MUCH})),
    ("every", ("header", 0, {"taps": 32, "words": 64})),
    ("every", ("ports", 1, {"offset": 256 - 12})),
    ("every", ("ports", 1, {"memory": 0x11, "offset": 0})),
    ("every", ("ports", 1, {"memory": 0x10, "offset": 12})),
    ("every", ("ports", 1, {"labels": 0})),
    ("every", ("places", OUT, {"at": 244})),
    ("every", ("rows", 3, {"value": 63})),
    ("every", ("ops", JUMP, {"lo": 39})),
    ("every", ("ops", COPY, {"hi": 0})),
    ("every", ("ops", SEVERAL, {"last": 7})),
    ("every", ("ops", SEVERAL, {"group": 64})),
    ("every", ("ops", BY_ROWS, {"scratch": 48})),
    ("every", ("ops", SUMS, work(1, 16, 8))),
    ("every", ("ops", SUMS, work(1, 40, 8))),
    ("every", ("states", 1, {"at": 12})),
    ("training", ("states", WEIGHTS, {"at": 4})),
    ("training", ("states", WEIGHTS, {"bytes": 11})),
    ("training", ("states", LABEL, {"bytes": 8, "high": MUCH >> 1})),
    ("training", ("states", LAST, {"role": TrainingRole.TARGET, "bytes": 0})),
]


def change(base: str, wanted: Change) -> bytes:
    section, index, values = wanted
    return patched(BASES[base], section, index, **values)


def test_what_is_wrong_is_refused_for_what_it_is(library: Library) -> None:
    for why, base, wanted in WRONG:
        model = Model(library, change(base, wanted))
        unsupported = why in ("too large for this runtime", "unknown format or feature")
        status = NO_KERNEL if why == "kernel is missing" else UNSUPPORTED if unsupported else BAD_IMAGE
        assert (model.problem.what.decode(), model.status) == (why, status), wanted


def test_what_is_no_image_at_all(library: Library) -> None:
    memory = np.frombuffer(BASES["every"] + bytes(8), np.uint64).copy()
    begin = memory.ctypes.data
    unaligned = np.frombuffer(bytes(4) + BASES["every"] + bytes(4), np.uint64).copy()
    for at, nbytes, status in (
        (begin, SIZE, OK),
        (None, SIZE, BAD_IMAGE),
        (unaligned.ctypes.data + 4, SIZE, BAD_IMAGE),
        (begin, 191, BAD_IMAGE),
        (begin, SIZE - 1, BAD_IMAGE),
    ):
        found = library.c.mote_needs(ctypes.c_void_p(at), ctypes.c_size_t(nbytes), ctypes.byref(ArenaNeeds()))
        assert found == status
    memory.view(np.uint32)[2] = 1 << 31
    assert (
        library.c.mote_needs(ctypes.c_void_p(begin), ctypes.c_size_t(1 << 32), ctypes.byref(ArenaNeeds())) == BAD_IMAGE
    )


def test_a_runtime_for_aligned_words_takes_only_such_images(tmp_path: Path) -> None:
    sources = [*SOURCES, HERE / "handmade.c"]
    library = Library(built(tmp_path / "library.so", sources, "-shared", "-fPIC", "-O0", "-DMOTE_WORDS_ALIGNED=1"))
    assert Model(library, BASES["every"]).status == UNSUPPORTED
    assert Model(library, every_form(Feature.ALIGNED).image()).status == OK


def test_kernels_are_told_what_room_they_have(library: Library) -> None:
    """Form, taps and bytes of the operand, bytes of the output, lo, hi, most, outside, inside, fixed, rows, listed;
    and whether operand and output lie at multiples of eight."""
    wanted = {
        FIRST: (0, 0, 32, 32, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0),
        BY_ROWS: (1, 3, 4, 4, 0, 8, 0, 1, 2, 0, 8, 0, 0, 0),
        EACH: (2, 1, 4, 4, 0, 4, 0, 0, 1, 0, 8, 8, 0, 0),
        SEVERAL: (3, 4, 4, 4, 0, 8, 2, 1, 2, 0, 8, 0, 0, 0),
        SUMS: (4, 1, 4, 4, 0, 8, 0, 0, 1, 0, 8, 0, 0, 1),
        RING: (5, 0, 4, 12, 0, 3, 0, 0, 0, 0, 0, 0, 1, 0),
        RING_ROWS: (1, 3, 4, 4, 0, 3, 0, 1, 2, 0, 3, 0, 0, 0),
        AGAIN: (0, 0, 12, 12, 0, 12, 0, 0, 0, 0, 0, 0, 1, 1),
        CONSTANT: (0, 0, 12, 12, 0, 12, 0, 0, 0, 1, 0, 0, 1, 1),
    }
    seen = (ctypes.c_int32 * (16 * 14)).in_dll(library.c, "seen")
    count = ctypes.c_int32.in_dll(library.c, "seen_count")
    count.value = 0
    assert Model(library, BASES["every"]).status == OK
    assert [tuple(seen[14 * i : 14 * i + 14]) for i in range(count.value)] == list(wanted.values())
    count.value = 0
    assert Model(library, BASES["pushed"]).status == OK
    assert seen[1] == 1, "rows behind the last one that is given"
    count.value = 0
    assert Model(library, patched(BASES["pushed"], "ops", 1, times=3)).status == OK
    assert seen[1] == 2


def test_parameters_are_looked_at(library: Library) -> None:
    for word, value in ((0, SIZE + 1), (0, MUCH), (0, 0), (0, SIZE), (1, 0), (1, MUCH)):
        model = Model(library, patched_params(BASES["every"], FIRST, word, value))
        assert (model.status, model.problem.name, model.problem.op) == (BAD_IMAGE, b"first", FIRST)
        assert (model.problem.what == b"parameters") == (word == 0 and value > SIZE)


def test_every_refusal_has_a_mutant() -> None:
    text = (HERE.parents[3] / "src/mote/compiler/emit/image/runtime/mote_check.c").read_text(encoding="utf-8")
    said = set(re.findall(r'"([a-z][^"]+)"', text)) - {"mote_interpreter.h", "mote_weights.h", "nothing"}
    assert said == {why for why, _, _ in WRONG}


def test_what_is_just_right_is_taken(library: Library) -> None:
    for base, wanted in RIGHT:
        assert Model(library, change(base, wanted)).status == OK, wanted
