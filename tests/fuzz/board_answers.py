"""Boards that lie: an agent whose answers are damaged at random, whole, cut off, too long or never coming to an end."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import mote
from mote.base.errors import MoteError
from mote.compiler.compiled import Compiled
from mote.compiler.firmware import firmware
from mote.deploy.boards.address import parse_address
from mote.deploy.boards.agent.exchange import BoardPatience
from mote.deploy.boards.boards_file import BoardEntry
from mote.deploy.boards.placing import BoardModel, board_model
from mote.deploy.boards.protocol import MOST_MESSAGE, AgentRegion, Request, Status
from mote.deploy.boards.session import BoardSession
from mote.deploy.update.header import read_header
from mote.deploy.update.session import Patience, Session, UpdatePlan, update
from mote.deploy.wire.frames import ANSWER, FrameReader, Message
from mote.deploy.wire.links import ConnectionLostError
from mote.hardware import toolchain
from mote.ui.cli import main

DIGITS = str(Path(__file__).parents[2] / "models" / "digits.tflite")
TARGET = "cortex-m4"
MOST_REQUESTS = 20_000
"""Requests after which a session is taken to have no end: an honest board gets some 100."""
WORDS = (0, 1, 2, 7, 9, 10, 255, 256, 65_536, 1 << 20, 1 << 29, 1 << 30, 0x7FFFFFFF, 0xFFFFFFFF)
NAMES = (b"", b"cortex-m4", b"/etc/passwd", b"../x.toml", b"t.toml", b"\0", b"\x1b[31m", b"\xff" * 9, b"x" * 1500)
FAST = BoardPatience(answer_s=0.1, tries=2, run_s=1.0, attempts=3)


class EndlessSessionError(AssertionError):
    """The host asks a board without an end."""


class LyingLine:
    """A line to something that answers every message, though not always with the truth."""

    name = "lying"
    window = 1

    def __init__(self, rng: Random) -> None:
        self.rng, self.asked = rng, 0
        self.sent, self.reader = bytearray(), FrameReader()

    def open(self) -> None: ...

    def close(self) -> None: ...

    def receive(self, seconds: float) -> bytes:
        data, self.sent = bytes(self.sent), bytearray()
        return data

    def send(self, data: bytes) -> None:
        for message in self.reader.take(data):
            self.asked += 1
            if self.asked > MOST_REQUESTS:
                raise EndlessSessionError(f"{message.type:#x} is asked without an end")
            self.sent += Message(message.type | ANSWER, message.sequence, self.answer(message)).framed

    def answer(self, message: Message) -> bytes:
        raise NotImplementedError


class LyingBoard(LyingLine):
    """A line to a board with the agent, which runs a model that is always zero. Time is virtual."""

    def __init__(self, rng: Random, model: BoardModel, sizes: tuple[list[int], list[int], list[int]]) -> None:
        super().__init__(rng)
        self.model = model
        self.inputs, self.outputs, self.tensors = sizes
        self.now, self.step = 0.0, -1
        self.damaged_request = rng.choice((None, *Request))
        self.chance = rng.choice((0.0, 0.02, 0.2, 1.0))
        self.sticky: bytes | None = None

    def open(self) -> None:
        self.sent.clear()
        self.reader = FrameReader()

    def clock(self) -> float:
        return self.now

    def receive(self, seconds: float) -> bytes:
        self.now += 0.001 if self.sent else seconds
        return super().receive(seconds)

    def answer(self, message: Message) -> bytes:
        answer = self._honest(message.type, message.data)
        if self.damaged_request in (None, message.type) and self.rng.random() < self.chance:
            answer = self._damaged(answer)
        if self.rng.random() < self.chance / 50:
            raise ConnectionLostError("the cable is out")
        return answer

    def _honest(self, kind: int, data: bytes) -> bytes:
        if kind == Request.IDENTIFY:
            words = (1, 0x1FF, 512, 0x410FC241, 80_000_000, 80_000_000, 1, 4)
            counts = (len(self.inputs), len(self.outputs), len(self.tensors), 1, 1)
            return struct.pack("<14I", Status.OK, *words, *counts) + self.model.id + bytes(16) + TARGET.encode()
        status, answer = self._executed(kind, data[4:])
        return struct.pack("<I", status) + answer

    def _executed(self, kind: int, data: bytes) -> tuple[int, bytes]:
        if kind in (Request.REGION, Request.READ):
            places = {
                AgentRegion.INPUT: self.inputs,
                AgentRegion.OUTPUT: self.outputs,
                AgentRegion.CYCLES: [8 * len(self.tensors)],
                AgentRegion.TENSOR: self.tensors[self.step :][:1],
                AgentRegion.MEMORY: [1 << 20],
            }.get(AgentRegion(data[0]), [])
            if data[1] >= len(places):
                return Status.OUTSIDE, b""
            size = places[data[1]]
            read = struct.unpack_from("<I", data, 8)[0] if kind == Request.READ else 0
            return Status.OK, struct.pack("<2I", 0x20000000, size) if kind == Request.REGION else bytes(read)
        if kind in (Request.RUN, Request.CONTINUE):
            (stop,) = struct.unpack_from("<I", data, 4 if kind == Request.RUN else 0)
            self.step = (
                len(self.tensors) if stop >= len(self.tensors) else (0 if kind == Request.RUN else self.step + 1)
            )
            if self.step < len(self.tensors):
                size = self.tensors[self.step]
                return Status.STOPPED, struct.pack("<4IQ", self.step, size, 0, 0, 9) + bytes(min(size, 400))
            return Status.OK, struct.pack("<4IQ", 0, 0, 0, 256, 1000)
        return (Status.OK, b"") if kind == Request.WRITE else (Status.UNKNOWN, b"")

    def _damaged(self, answer: bytes) -> bytes:
        """Another answer; sometimes the same one to all that follows."""
        if self.sticky is not None:
            return self.sticky
        new = bytearray(answer)
        kind = self.rng.randrange(7)
        if kind == 0:
            new[:4] = struct.pack("<I", self.rng.choice((*Status, 11, 1 << 31)))
        elif kind == 1 and len(new) >= 8:
            at = 4 * self.rng.randrange(len(new) // 4)
            new[at : at + 4] = struct.pack("<I", self.rng.choice(WORDS))
        elif kind == 2:
            new = new[: self.rng.randrange(len(new) + 1)]
        elif kind == 3:
            new += bytes(self.rng.randrange(1, MOST_MESSAGE))
        elif kind == 4 and len(new) > 92:
            new[88:] = self.rng.choice(NAMES)
        elif kind == 5:
            new = bytearray(self.rng.randbytes(self.rng.randrange(120)))
        else:
            new[:4] = struct.pack("<I", Status.STOPPED)
        if self.rng.random() < 0.3:
            self.sticky = bytes(new)
        return bytes(new)


@cache
def digits() -> tuple[Compiled, BoardModel, tuple[list[int], list[int], list[int]]]:
    compiled = mote.compile(DIGITS, target=TARGET)
    plan, graph = compiled.plan, compiled.plan.graph
    sizes = [graph.tensors[t].nbytes for t in graph.inputs], [graph.tensors[t].nbytes for t in graph.outputs]
    shown = [len(plan.traced(steps)) * plan.place[op.outputs[0]].row_bytes for op, steps in plan.works]
    return compiled, board_model(firmware(compiled)), (*sizes, shown)


@contextmanager
def lying(rng: Random) -> Iterator[LyingBoard]:
    """Every board is one that lies, and there is no compiler to place a model with."""
    _, model, sizes = digits()
    board = LyingBoard(rng, model, sizes)

    def none(*_: Any, **__: Any) -> Any:
        raise MoteError("there is no compiler")

    with ExitStack() as patches:
        patches.enter_context(patch("mote.deploy.boards.placing.line_of", lambda entry: board))
        session = partial(BoardSession, clock=board.clock)
        patches.enter_context(
            patch(
                "mote.deploy.boards.placing.BoardSession", lambda line, **how: session(line, **how | {"patience": FAST})
            )
        )
        patches.enter_context(patch.object(toolchain, "find_compiler", none))
        patches.enter_context(patch("mote.deploy.boards.placing.find_compiler", none))
        yield board


def on_lying_board(rng: Random) -> int:
    """A command, or what is behind it, on a board that lies."""
    compiled, _, _ = digits()
    entry = BoardEntry("lying", parse_address("tcp:h:1"))
    with lying(rng):
        kind = rng.randrange(40)
        if kind == 0:
            return main(["run", DIGITS, "--board", "tcp:h:1"])
        if kind == 1:
            return main(["verify", DIGITS, "--board", "tcp:h:1", "--inputs", "1"])
        if kind < 6:
            return main(["board", "info", "tcp:h:1"])
        if kind < 24:
            mote.run(compiled, board=entry)
        else:
            mote.verify(compiled, 1, board=entry)
    return 0


class LyingDevice(LyingLine):
    """A line to a device with the update module, whose answers are damaged. Time is the real one, and silence rare."""

    window = 2

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self.taken = 0

    def answer(self, message: Message) -> bytes:
        words = [self.rng.choice(WORDS) if self.rng.random() < 0.2 else word for word in self._words(message)]
        answer = struct.pack(f"<{len(words)}I", *words)
        if message.type == 1:
            state = self.rng.choice((0, 0, 1, 2, 3, 255))
            answer = answer[:4] + bytes([1, state, 0, self.rng.choice((0, 1, 255))]) + answer[8:]
        return answer if self.rng.random() < 0.9 else answer[: self.rng.randrange(len(answer) + 1)]

    def _words(self, message: Message) -> list[int]:
        if message.type == 1:
            return [0, 0, 128, 1 << 20, 1, 1000, 7, 0, 0, 0, 0, 0, 0, 0]
        if message.type == 3:
            self.taken = max(self.taken, int.from_bytes(message.data[:4], "little") + len(message.data) - 4)
        return [0, self.taken, 0]


@cache
def _update() -> UpdatePlan:
    data = mote.pack(DIGITS).data
    return UpdatePlan(data, read_header(data, "image"))


def to_lying_device(rng: Random) -> int:
    """An update of a device that lies."""
    patience = Patience(answer_s=0.001, finish_s=0.01, restart_s=0.01, confirm_s=0.01, tries=3, connections=3)
    update(Session(LyingDevice(rng), patience), _update(), "image")
    return 0
