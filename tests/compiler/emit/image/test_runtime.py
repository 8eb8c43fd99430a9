"""The runtime runs images that were made by hand as they are meant."""

from __future__ import annotations

import ctypes
import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from mote.compiler.emit.c.model import header
from mote.compiler.emit.image.format import Feature
from tests.compiler.emit.image.c_runtime import (
    BAD_ARENA,
    BAD_STATE,
    BUSY,
    DAMAGED,
    NOT_READY,
    OK,
    RUNTIME,
    UNSUPPORTED,
    WAITING,
    Library,
    Model,
)
from tests.compiler.emit.image.handmade import ROWS, TABLE, WIDTH, Handmade, every_form, expected, patched, pushed

HERE = Path(__file__).parent


def inputs(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (ROWS, WIDTH), np.uint8)


def begin() -> list[np.ndarray]:
    """What the ring buffer of `every_form` holds at first."""
    return list(np.arange(12, dtype=np.uint8).reshape(3, 4))


@pytest.mark.parametrize("features", [0, Feature.WIDE])
def test_every_form_does_what_it_says(library: Library, features: int) -> None:
    model, kept = Model(library, every_form(features).image()), begin()
    assert model.status == OK
    for turn in range(5):
        model.set(inputs(turn))
        assert model.call("invoke") == (WAITING if turn == 0 else OK)
        np.testing.assert_array_equal(model.get(12), expected(inputs(turn), kept))


def test_steps_do_one_piece_of_the_schedule_each(library: Library) -> None:
    h = every_form()
    model, kept = Model(library, h.image()), begin()
    model.set(inputs(0))
    statuses = [model.call("step") for _ in range(len(h.schedule) - 2 + 4)]
    assert statuses == [BUSY] * (len(statuses) - 1) + [WAITING], "two are jumped over, two turns are made again"
    np.testing.assert_array_equal(model.get(12), expected(inputs(0), kept))
    model.set(inputs(1))
    assert model.call("step") == BUSY
    assert model.call("invoke") == OK, "goes on from there"
    np.testing.assert_array_equal(model.get(12), expected(inputs(1), kept))


def test_branches_look_at_a_byte(library: Library) -> None:
    model = Model(library, patched(every_form().image(), "states", 0, fill=1))
    model.set(inputs(0))
    model.call("invoke")
    np.testing.assert_array_equal(model.get(12), expected(inputs(0), begin(), flag=1))


def test_a_state_block_may_come_from_the_arena(library: Library) -> None:
    model, kept = Model(library, every_form().image(), state=None), begin()
    assert model.status == OK
    model.set(inputs(0))
    model.call("invoke")
    np.testing.assert_array_equal(model.get(12), expected(inputs(0), kept))


def test_memory_that_is_too_small_is_refused(library: Library) -> None:
    image = every_form().image()
    state = library.needs(image)[1].state
    for given in (
        {"arena_bytes": 255},
        {"state_bytes": state - 1},
        {"state": None, "arena_bytes": 256 + state - 1},
        {"arena": np.zeros(300, np.uint8)[1:]},
        {"state": np.zeros(300, np.uint8)[4:]},
    ):
        model = Model(library, image, **given)
        assert model.status == BAD_ARENA and b"memory" in model.problem.what
        assert model.call("invoke") == NOT_READY


def test_interpreters_share_an_arena_but_no_state(library: Library) -> None:
    image, arena = every_form().image(), np.zeros(32, np.uint64)
    one, two = (Model(library, image, arena=arena) for _ in range(2))
    kept = [begin(), begin()]
    for turn in range(6):
        model, own = ((one, kept[0]), (two, kept[1]))[turn % 3 == 1]
        model.set(inputs(turn))
        model.call("invoke")
        np.testing.assert_array_equal(model.get(12), expected(inputs(turn), own))


def test_rows_are_pushed_one_by_one_and_many_at_once(library: Library) -> None:
    model = Model(library, pushed().image())
    assert model.status == OK and model.c.mote_input(model.it, 0) is None
    rows = np.random.default_rng(0).integers(0, 256, (11, WIDTH), np.uint8)
    wanted = rows + np.resize(TABLE.astype(np.uint8), WIDTH) + np.uint8(7)
    assert model.call("invoke") == WAITING and model.call("step") == WAITING
    assert model.call("push_row", rows[0].tobytes()) == BUSY
    assert model.call("push_row", rows[1].tobytes()) == BUSY, "not taken"
    assert model.call("step") == WAITING
    assert model.call("push", rows[1:3].tobytes(), ctypes.c_size_t(2)) == WAITING
    assert model.call("push_row", rows[3].tobytes()) == BUSY
    assert [model.call("step") for _ in range(2)] == [BUSY, OK]
    np.testing.assert_array_equal(model.get(16).reshape(4, WIDTH), wanted[:4])
    assert model.call("push", rows[4:8].tobytes(), ctypes.c_size_t(4)) == OK
    np.testing.assert_array_equal(model.get(16).reshape(4, WIDTH), wanted[4:8])
    assert model.call("push", rows[3:].tobytes(), ctypes.c_size_t(8)) == OK, "two inferences at once"
    np.testing.assert_array_equal(model.get(16).reshape(4, WIDTH), wanted[7:])
    assert model.call("push", rows[:1].tobytes(), ctypes.c_size_t(1)) == WAITING
    assert model.call("reset") == OK
    assert model.call("push", rows[:4].tobytes(), ctypes.c_size_t(4)) == OK, "reset begins at the first row"
    np.testing.assert_array_equal(model.get(16).reshape(4, WIDTH), wanted[:4])


def test_rows_are_not_pushed_to_others(library: Library) -> None:
    model = Model(library, every_form().image())
    assert model.call("push_row", bytes(4)) == UNSUPPORTED
    assert model.call("push", bytes(4), ctypes.c_size_t(1)) == UNSUPPORTED


def test_what_is_remembered_can_be_saved_and_restored(library: Library) -> None:
    image = every_form().image()
    model, kept = Model(library, image), begin()
    size = library.c.mote_state_bytes(model.it)
    assert size == 16 + 24 + 2 + 2
    saved = ctypes.create_string_buffer(size)

    def run(turn: int) -> int:
        model.set(inputs(turn))
        status = model.call("invoke")
        np.testing.assert_array_equal(model.get(12), expected(inputs(turn), kept))
        return status

    run(0)
    assert model.call("save", saved, ctypes.c_size_t(size)) == OK
    before = list(kept)
    run(1)
    assert model.call("step") == BUSY
    assert model.call("save", saved, ctypes.c_size_t(size)) == BUSY
    assert model.call("restore", saved, ctypes.c_size_t(size)) == BUSY
    assert model.call("reset") == OK
    kept[:] = begin()
    assert run(2) == WAITING, "a stream has begun"
    assert model.call("restore", saved, ctypes.c_size_t(size)) == OK
    kept[:] = before
    assert run(3) == OK
    for wrong in (
        bytes(saved[:20]) + bytes([saved[20][0] ^ 1]) + bytes(saved[21:]),
        bytes([0]) + bytes(saved[1:]),
    ):
        assert model.call("restore", wrong, ctypes.c_size_t(size)) == BAD_STATE
    assert model.call("restore", saved, ctypes.c_size_t(size - 1)) == BAD_STATE
    assert model.call("restore", None, ctypes.c_size_t(size)) == BAD_STATE
    other = Model(library, patched(image, "header", 0, version=2))
    assert other.call("restore", saved, ctypes.c_size_t(size)) == BAD_STATE, "of another image"
    run(4)


@pytest.mark.parametrize(("at", "value"), [(16 + 24, 3), (16 + 26, 3)])
def test_numbers_that_nobody_has_saved_are_not_restored(library: Library, at: int, value: int) -> None:
    """The oldest row of the ring buffer, which has 3, and the inferences to wait for, which are 2 at most."""
    model = Model(library, every_form().image())
    size = library.c.mote_state_bytes(model.it)
    saved = ctypes.create_string_buffer(size)
    assert model.call("save", saved, ctypes.c_size_t(size)) == OK
    state = bytearray(saved.raw)
    for number, status in ((value - 1, OK), (value, BAD_STATE)):
        struct.pack_into("<H", state, at, number)
        struct.pack_into("<I", state, 12, crc(bytes(state)))
        assert model.call("restore", bytes(state), ctypes.c_size_t(size)) == status


def crc(state: bytes) -> int:
    return zlib.crc32(state[16:], zlib.crc32(state[:12]))


def test_inputs_and_outputs_are_described(library: Library) -> None:
    model = Model(library, every_form().image())
    c, it = library.c, model.it
    assert (c.mote_input_count(it), c.mote_output_count(it)) == (1, 1)
    assert c.mote_input_index(it, b"input") == 0 and c.mote_output_index(it, b"output") == 0
    assert c.mote_input_index(it, b"output") == -1
    info = model.info("input")
    assert (info.name, info.bytes, info.row_bytes, info.rank, info.dtype) == (b"input", 32, 4, 3, 9)
    assert (info.scale, info.zero_point, info.labels, info.shape[:3]) == (0.5, 0, b"one\ntwo", [1, 8, 4])
    assert model.info("output").shape[:1] == [12]
    assert model.call("output_info", ctypes.c_size_t(1), None) == UNSUPPORTED
    assert c.mote_output(it, ctypes.c_size_t(1)) is None


def test_nothing_is_ready_before_init(library: Library) -> None:
    model = Model(library, every_form().image()[:-8])
    c, it = library.c, model.it
    for name in ("invoke", "step", "reset"):
        assert model.call(name) == NOT_READY
    assert model.call("push_row", bytes(4)) == model.call("push", bytes(4), ctypes.c_size_t(1)) == NOT_READY
    assert model.call("save", bytes(99), ctypes.c_size_t(99)) == NOT_READY
    assert model.call("input_info", ctypes.c_size_t(0), None) == NOT_READY
    assert c.mote_input(it, ctypes.c_size_t(0)) is None and c.mote_output(it, ctypes.c_size_t(0)) is None
    assert c.mote_input_count(it) == c.mote_state_bytes(it) == 0 and c.mote_input_index(it, b"input") == -1


def test_an_image_without_steps_is_done_at_once(library: Library) -> None:
    model = Model(library, Handmade(inputs=0).image())
    assert model.status == OK and model.call("invoke") == OK


def test_the_crc_is_of_all_bytes(library: Library) -> None:
    image = every_form().image()
    for changed, status in ((image, OK), (image + b"behind", OK), (image[:-1] + b"\1", DAMAGED)):
        model = Model(library, changed)
        assert (
            library.c.mote_image_crc(model.image.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(len(changed)))
            == status
        )


def test_statuses_are_those_of_compiled_models(library: Library) -> None:
    assert str(header.STATUS.text).strip() in (RUNTIME / "mote_runtime.h").read_text(encoding="utf-8")
    numbers = [int(n) for n in re.findall(r"MOTE_\w+ = (\d+)", str(header.STATUS.text))]
    texts = [library.c.mote_status_text(n) for n in (*numbers, 99)]
    assert len(set(texts)) == len(texts) and texts[-1] == b"unknown status"
