"""The agent as bare-metal firmware in QEMU: a compiled model, images that are loaded, code that is called."""

from __future__ import annotations

import re
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from mote.bench.measure.runner import bench
from mote.compiler.compiled import Compiled
from mote.compiler.firmware import firmware
from mote.compiler.line import compile
from mote.compiler.packer import pack
from mote.compiler.settings import make_settings
from mote.deploy import keys
from mote.deploy.agent.firmware import AgentOptions, runtime_settings
from mote.deploy.agent.sources import image_id
from mote.deploy.firmware.agent import AgentModel, linked_agent, linked_runtime_agent
from mote.deploy.runtime import runtime
from mote.deploy.signature import split
from mote.deploy.wire.frames import ANSWER, FrameReader, Message
from mote.deploy.wire.links import Opened, Serial
from mote.hardware import targets, toolchain
from mote.hardware.targets import Target
from mote.hardware.toolchain import Mode
from mote.hardware.toolchain.emulators import command, find_emulator
from tests.deploy.agent.agent_bench import (
    CALL,
    CONTINUE,
    CYCLES,
    IDENTIFY,
    IMAGE,
    INPUT,
    LOAD,
    NO_MODEL,
    NO_SESSION,
    NO_STOP,
    OK,
    OUTPUT,
    READ,
    REFUSED,
    REGION,
    RESTART,
    RUN,
    SCRATCH,
    STOPPED,
    TENSOR,
    WRITE,
    words,
)
from tests.helpers.support import emulated, needs

ROOT = Path(__file__).parents[3]
DIGITS = ROOT / "models" / "digits.tflite"
SECONDS = 60.0
CHUNK = 400
MORE_STACK = 96
"""Bytes by which the stack of a run may be estimated too high: the frame of its caller, and the hook's."""
MOST_OVERHEAD = 0.01
"""Of the instructions of a model: what the hook between its steps may take."""


@dataclass
class Asking:
    """A session with an agent over a line. Silence is answered by asking again: what comes during a reset is lost."""

    line: Serial
    session: int = 1
    sequence: int = 0
    text: bytes = b""
    reader: FrameReader = field(default_factory=FrameReader)

    def __call__(self, kind: int, *data: bytes) -> tuple[int, bytes]:
        """The status and the results of a request."""
        self.sequence = (self.sequence + 1) % 256
        request = Message(kind, self.sequence, words(self.session) + b"".join(data)).framed
        self.line.send(request)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            received = self.line.receive(0.5)
            if not received:
                self.line.send(request)
            self.text += received
            for answer in self.reader.take(received):
                if (answer.type, answer.sequence) == (kind | ANSWER, self.sequence):
                    return struct.unpack_from("<I", answer.data)[0], answer.data[4:]
        raise TimeoutError(f"request {kind:#x}")

    def write(self, region: int, data: bytes) -> None:
        for at in range(0, len(data), CHUNK):
            assert self(WRITE, bytes([region, 0, 0, 0]), words(at), data[at : at + CHUNK])[0] == OK

    def read(self, region: int, count: int) -> bytes:
        where = bytes([region, 0, 0, 0])
        parts = [self(READ, where, words(at, min(CHUNK, count - at))) for at in range(0, count, CHUNK)]
        assert all(status == OK for status, _ in parts)
        return b"".join(data for _, data in parts)

    def size(self, region: int) -> int:
        status, where = self(REGION, bytes([region, 0, 0, 0]))
        assert status == OK
        return int(struct.unpack("<II", where)[1])


@contextmanager
def running(elf: Path, target: Target) -> Iterator[Asking]:
    """Firmware in QEMU, with a session that is open."""
    arguments = command(elf, target, find_emulator(target, "qemu"), serial="pty")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout
            port = re.search(r"/dev/\S+", process.stdout.readline())
            assert port
            with Opened(Serial(port[0], 115200)) as line:
                assert isinstance(line, Serial)
                asking = Asking(line)
                assert asking(IDENTIFY)[0] == OK
                yield asking
        finally:
            process.kill()


def compiled(name: str) -> tuple[Compiled, Target]:
    target = targets.load(emulated(name))
    needs("qemu-system-arm" if target.arch == "arm" else "qemu-system-riscv32")
    return compile(DIGITS, make_settings(target=target)), target


def linked(model: Compiled, target: Target, folder: Path, **options: int) -> tuple[Path, bytes]:
    parts = firmware(model)
    agent = AgentModel(parts.files, parts.sources, parts.glue(Mode.DUMP), parts.flags(Mode.DUMP))
    elf = linked_agent(
        agent,
        target,
        toolchain.find_compiler(target),
        folder,
        optimize=parts.optimize,
        options=AgentOptions(**options),  # type: ignore[arg-type]
        emulated=True,
    ).elf
    return elf, agent.id


OTHERS = ("cortex-m0plus", "cortex-m3", "cortex-m7", "cortex-m33", "cortex-m55", "rv32imc")


@pytest.mark.parametrize("name", ["cortex-m4", *(pytest.param(other, marks=pytest.mark.slow) for other in OTHERS)])
def test_a_model_runs_stops_and_shows_its_tensors(name: str, tmp_path: Path) -> None:
    """Outputs are the reference's, every tensor is that of a dump by semihosting, and the hook is hardly noticed."""
    model, target = compiled(name)
    graph = model.plan.graph
    tensor = graph.tensors[graph.inputs[0]]
    given = np.random.default_rng(1).integers(-128, 128, tensor.shape).astype(np.int8)
    expected = graph.evaluate({graph.inputs[0]: given})[graph.outputs[0]].tobytes()
    elf, identity = linked(model, target, tmp_path)
    with running(elf, target) as ask:
        status, who = ask(IDENTIFY)
        assert who[52:68] == identity and who[84:].decode() == target.name
        assert ask.size(INPUT) == given.nbytes
        ask.write(INPUT, given.tobytes())
        status, ran = ask(RUN, words(3, NO_STOP))
        *_, stack, ticks = struct.unpack("<4IQ", ran)
        assert status == OK and ask.read(OUTPUT, len(expected)) == expected
        steps = struct.unpack(f"<{len(model.plan.works)}Q", ask.read(CYCLES, 8 * len(model.plan.works)))
        ask.write(INPUT, given.tobytes())
        status, ran = ask(RUN, words(1, 0))
        shown: dict[int, bytes] = {}
        while status == STOPPED:
            step, count = struct.unpack_from("<II", ran)
            part = ran[24:]
            assert len(part) == min(count, 478)
            shown[step] = shown.get(step, b"") + (part if len(part) == count else ask.read(TENSOR, count))
            status, ran = ask(CONTINUE, words(0))
        assert status == OK and ask.read(OUTPUT, len(expected)) == expected
        again = struct.unpack_from("<Q", ran, 16)[0]
        assert ask(RESTART) == (OK, b"")
        assert ask(READ, bytes([OUTPUT, 0, 0, 0]), words(0, 1)) == (NO_SESSION, b"")
    board = target.core.boards[str(target.qemu_machine)]
    measured = bench(model, tmp_path, emulator="qemu")
    plain = measured.execute(Mode.MEASURE, [[given.tobytes()]])
    instructions = float(ticks / board.ticks_per_instruction)
    assert plain.instructions and instructions == pytest.approx(plain.instructions[0], rel=MOST_OVERHEAD)
    assert sum(steps) == pytest.approx(ticks, rel=MOST_OVERHEAD) and again == pytest.approx(ticks, rel=MOST_OVERHEAD)
    assert plain.stack and plain.stack <= stack <= plain.stack + MORE_STACK
    assert measured.execute(Mode.DUMP, [[given.tobytes()]]).dumps == [shown]


def test_code_in_the_scratch_memory_is_called_and_a_trap_is_a_reset(tmp_path: Path) -> None:
    """Thumb: add r0, r0, #5; bx lr. Then an instruction that is none."""
    model, target = compiled("cortex-m4")
    elf, _ = linked(model, target, tmp_path, scratch=256)
    with running(elf, target) as ask:
        assert ask.size(SCRATCH) == 256
        ask.write(SCRATCH, bytes.fromhex("0530 7047 00de"))
        status, said = ask(CALL, words(1, 37))
        value, ticks = struct.unpack("<IQ", said)
        assert (status, value) == (OK, 42) and 0 < ticks < 200
        ask.line.send(Message(CALL, ask.sequence + 1, words(ask.session, 5, 0)).framed)
        ask.sequence += 1
        assert ask(READ, bytes([OUTPUT, 0, 0, 0]), words(0, 1)) == (NO_SESSION, b"")
        assert re.search(rb"fault 3 at 0x2000", ask.text), "it says where"
        ask.session += 1
        assert ask(IDENTIFY)[0] == OK


@pytest.mark.slow
@pytest.mark.parametrize("signed", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["any", "signed"])
def test_images_are_loaded_checked_and_run(signed: bool, tmp_path: Path) -> None:
    """An image that is damaged, or not signed where it must be, is refused, and none is open then."""
    target = targets.load(emulated("cortex-m4"))
    needs("qemu-system-arm")
    model = DIGITS.read_bytes()
    library = runtime([model], target=target, optimize="size", update=True)
    image = pack(model, library.settings, runtime=library.manifest.fixed)
    data, public = image.data, []
    if signed:
        ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
        key = ed25519.Ed25519PrivateKey.generate()
        data, public = keys.sign(split(data, "image"), key).data, [keys.public_of(key)]
    elf = linked_runtime_agent(
        library.package.files,
        runtime_settings([8192], 1024, keys=public),
        target,
        toolchain.find_compiler(target),
        tmp_path,
        optimize="size",
        options=AgentOptions(image=16_384),
        emulated=True,
    ).elf
    graph = image.plan.graph
    given = np.random.default_rng(1).integers(-128, 128, graph.tensors[graph.inputs[0]].shape).astype(np.int8)
    expected = graph.evaluate({graph.inputs[0]: given})[graph.outputs[0]].tobytes()
    damaged = data[:300] + bytes([data[300] ^ 1]) + data[301:]
    with running(elf, target) as ask:
        assert ask(RUN, words(1, NO_STOP)) == (NO_MODEL, b"")
        for sent in (damaged, *([image.data] if signed else [])):
            ask.write(IMAGE, sent)
            assert ask(LOAD, words(len(sent), crc32(sent)))[0] == REFUSED
            assert ask(RUN, words(1, NO_STOP)) == (NO_MODEL, b"")
        ask.write(IMAGE, data)
        assert ask(LOAD, words(len(data), crc32(data))) == (OK, b"")
        _, who = ask(IDENTIFY)
        assert who[52:68] == image_id(data) and any(who[68:84])
        ask.write(INPUT, given.tobytes())
        assert ask(RUN, words(1, NO_STOP))[0] == OK
        assert ask.read(OUTPUT, len(expected)) == expected
        ask.write(INPUT, given.tobytes())
        status, ran = ask(RUN, words(1, 2))
        assert status == STOPPED and struct.unpack_from("<I", ran)[0] >= 2
        assert ask(CONTINUE, words(NO_STOP))[0] == OK and ask.read(OUTPUT, len(expected)) == expected
        ask.write(IMAGE, bytes(4))
        assert ask(RUN, words(1, NO_STOP)) == (NO_MODEL, b""), "the image that was open is no more"
