"""Sessions: every answer is right or there is none, whatever happens to the line and the device."""

from __future__ import annotations

import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.compiler.firmware import ModelExtent
from mote.deploy.boards.agent.exchange import BoardPatience, LostBoardError
from mote.deploy.boards.agent.inference import Wants, output
from mote.deploy.boards.execution import board_execution
from mote.deploy.boards.interruption import Interruption, interruption_lines
from mote.deploy.boards.protocol import AgentRegion, Placement, Request, Status
from mote.deploy.boards.session import BoardSession
from mote.deploy.wire.frames import FrameReader, Message
from mote.deploy.wire.links import ConnectionLostError
from mote.hardware.toolchain import Mode
from tests.deploy.boards.stand_in import IMAGE, INPUT, MODEL, OUTPUT, PARTS, STEPS, Faults, StandIn, outputs_of, tensor

STUBBORN = BoardPatience(answer_s=0.1, tries=12, run_s=20.0, attempts=2000)
IMPATIENT = BoardPatience(answer_s=0.1, tries=3, run_s=1.0, attempts=3)


def session_of(device: StandIn, patience: BoardPatience = STUBBORN, **options: object) -> BoardSession:
    return BoardSession(device, patience=patience, clock=device.clock, **options)  # type: ignore[arg-type]


def inputs_of(count: int, seed: int = 1) -> list[bytes]:
    return [random.Random(seed + i).randbytes(INPUT) for i in range(count)]


def test_identity_has_what_the_device_says() -> None:
    identity = session_of(StandIn()).identity
    assert (identity.model, identity.target, identity.steps) == (MODEL, "stm32l4r5", STEPS)
    assert identity.cycles(10) == 20  # the counter has half the clock
    assert identity.json()["counter"] == "dwt"


def test_outputs_tensors_cycles_and_stack() -> None:
    given = inputs_of(3)
    session = session_of(StandIn())
    results = session.inferences([[data] for data in given], Wants(tensors=True, steps=True, stack=True))
    assert [r.outputs for r in results] == outputs_of(given)
    assert [r.cycles for r in results] == [1200] * 3
    assert results[0].steps == [200, 400, 600]
    assert results[0].stack == 256
    state = (7 + sum(given[0])) % 251
    assert results[0].tensors == {
        s: b"".join(tensor(state, given[0], s, p) for p in range(PARTS)) for s in range(STEPS)
    }


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1 << 30),
    lost=st.sampled_from([0.0, 0.001, 0.004]),
    damaged=st.sampled_from([0.0, 0.001, 0.004]),
    noise=st.sampled_from([0.0, 0.002]),
    reset=st.sampled_from([0.0, 0.01, 0.03]),
    hang=st.sampled_from([0.0, 0.01]),
    broken=st.sampled_from([0.0, 0.002]),
    tensors=st.booleans(),
    stateful=st.booleans(),
)
def test_faults_never_give_a_wrong_answer(
    seed: int,
    lost: float,
    damaged: float,
    noise: float,
    reset: float,
    hang: float,
    broken: float,
    tensors: bool,
    stateful: bool,
) -> None:
    device = StandIn(Faults(seed, lost, damaged, noise, reset, hang, broken))
    given = inputs_of(3, seed)
    results = session_of(device).inferences([[d] for d in given], Wants(tensors=tensors, steps=True), stateful=stateful)
    wanted = outputs_of(given) if stateful else [outputs_of([data])[0] for data in given]
    assert [r.outputs for r in results] == wanted
    assert all(r.cycles == 1200 and r.steps == [200, 400, 600] for r in results)
    if tensors and not stateful:
        states = [(7 + sum(data)) % 251 for data in given]
        assert [r.tensors[1] for r in results] == [
            tensor(state, data, 1, 0) + tensor(state, data, 1, 1) for state, data in zip(states, given, strict=True)
        ]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1 << 30), share=st.floats(0, 1))
def test_random_bytes_are_no_answer(seed: int, share: float) -> None:
    """A device that sends noise is given up; the reader yields nothing but what was framed."""
    noise = random.Random(seed)

    class Noise(StandIn):
        def receive(self, seconds: float) -> bytes:
            self.now += 0.02
            return noise.randbytes(noise.randrange(200)).replace(b"\x11", b"\x7e") if noise.random() < share else b""

    with pytest.raises(MoteError, match="lost 3 times"):
        session_of(Noise(), IMPATIENT).inferences([[bytes(INPUT)]])
    message = Message(0xA0, 7, noise.randbytes(30))
    reader = FrameReader()
    data = noise.randbytes(500) + b"\x7e" + message.framed
    assert message in list(reader.take(data))


@pytest.mark.slow
def test_a_thousand_resets_never_give_a_wrong_answer() -> None:
    device = StandIn(Faults(11, lost=0.0005, damaged=0.0005, reset=0.03, hang=0.002, broken=0.0005))
    session, rounds = session_of(device), 0
    while device.resets < 1000:
        given, rounds = inputs_of(3, rounds), rounds + 1
        results = session.inferences([[d] for d in given], Wants(tensors=True), stateful=rounds % 2 == 0)
        wanted = outputs_of(given) if rounds % 2 == 0 else [outputs_of([data])[0] for data in given]
        assert [r.outputs for r in results] == wanted
    assert session.restarts >= 900


@pytest.mark.slow
def test_a_million_damaged_frames_are_no_messages() -> None:
    """Every message that the reader gives was sent, whatever happened to the frames around it."""
    chance = random.Random(5)
    kept = [Message(chance.randrange(256), chance.randrange(256), chance.randbytes(14)) for _ in range(500)]
    reader, given = FrameReader(), set(kept)
    for _ in range(2000):
        stream = bytearray()
        for message in kept:
            frame = bytearray(message.framed)
            at = chance.randrange(1, len(frame) - 1)
            frame[at] ^= 1 << chance.randrange(8)
            if chance.random() < 0.2:
                del frame[chance.randrange(1, len(frame) - 1)]
            stream += frame
        assert given.issuperset(reader.take(bytes(stream)))


def test_requests_are_executed_once_where_answers_are_lost() -> None:
    device = StandIn(Faults(3, lost=0.004))
    session_of(device).inferences([[data] for data in inputs_of(20)], stateful=False)
    assert device.resets == 1
    assert device.executed == 20


def test_states_begin_anew_after_a_reset() -> None:
    device = StandIn()
    given = inputs_of(5)
    runs: list[int] = []

    def reset(kind: int) -> None:
        runs.append(kind)
        if kind == 0x24 and runs.count(0x24) == 4:
            device.power_up()

    device.on_request = reset
    session = session_of(device)
    results = session.inferences([[data] for data in given], stateful=True)
    assert [r.outputs for r in results] == outputs_of(given)
    assert (session.restarts, device.executed) == (1, 3 + 5)


def test_an_inference_that_another_host_left_is_ended() -> None:
    device = StandIn()
    first, second = session_of(device), session_of(device)
    _ = first.identity
    first.device.exchange.answered(Request.RUN, (1).to_bytes(4, "little") + bytes(4))
    assert device.stopped
    given = inputs_of(1)
    assert second.inferences([given])[0].outputs == outputs_of(given)[0]
    assert first.inferences([given])[0].outputs == outputs_of(given)[0]
    assert first.restarts == 1


def test_what_was_loaded_is_loaded_again_after_a_reset() -> None:
    device = StandIn(Faults(5, reset=0.1))
    session = session_of(device)
    image, code = bytes(range(200)) * 3, bytes([9]) * 300
    session.load_image(image)
    session.load_scratch(code, 100)
    device.power_up()
    assert session.call(100, 3).value == 12
    device.faults.reset = 0.0
    assert session.read_scratch(100, 300) == code
    assert device.loaded == image
    assert device.resets > 3


def test_a_board_that_hangs_is_reset() -> None:
    device = StandIn()
    device.hung_until = 1e9
    said: list[str] = []
    session = session_of(device, IMPATIENT, reset=device.power_up, say=said.append)
    given = inputs_of(1)
    assert session.inferences([given])[0].outputs == outputs_of(given)[0]
    assert said == ["the board does not answer; beginning anew", "resetting the board"]


def test_a_restart_ends_the_session_and_opens_another() -> None:
    device = StandIn()
    session = session_of(device)
    assert session.identity.boots == 1
    assert session.restart().boots == 2


def test_another_model_after_a_reset_is_refused() -> None:
    device = StandIn()
    session = session_of(device)
    session.expect(MODEL)
    with pytest.raises(MoteError, match="has the model"):
        session.expect(bytes([5]) * 16)


@pytest.mark.parametrize(
    ("inputs", "message"), [([], "has 1 inputs, not 0"), ([b"ab"], "an input 0 of 40 bytes, not 2")]
)
def test_other_inputs_are_refused(inputs: list[bytes], message: str) -> None:
    with pytest.raises(MoteError, match=message):
        session_of(StandIn()).inferences([inputs])


def test_an_image_that_is_too_large_is_refused() -> None:
    with pytest.raises(MoteError, match="room for images of 700 bytes"):
        session_of(StandIn()).load_image(bytes(IMAGE + 1))


def test_regions_that_are_not_there_are_refused() -> None:
    with pytest.raises(MoteError, match="it has no such memory"):
        session_of(StandIn()).region(AgentRegion.MEMORY, 3)


def test_a_broken_line_that_cannot_be_opened_is_an_error() -> None:
    class Gone(StandIn):
        def open(self) -> None:
            raise MoteError("cannot be opened", where="stand-in")

    device = Gone()
    device.close()
    with pytest.raises(MoteError, match="cannot be opened"):
        _ = session_of(device).identity
    with pytest.raises(ConnectionLostError):
        device.send(b"")


@pytest.mark.parametrize("mode", [Mode.MEASURE, Mode.PROFILE, Mode.DUMP])
def test_executions_are_those_of_emulators(mode: Mode) -> None:
    given = inputs_of(2)
    execution = board_execution(session_of(StandIn()), mode, [[data] for data in given])
    assert execution.outputs == outputs_of(given)
    assert execution.instructions == (None if mode is Mode.DUMP else [1200, 1200])
    assert execution.steps == ([[200, 400, 600]] * 2 if mode is Mode.PROFILE else None)
    assert execution.stack == (256 if mode is Mode.MEASURE else None)
    assert [len(dump) for dump in execution.dumps] == ([STEPS] * 2 if mode is Mode.DUMP else [0, 0])


def test_marks_are_not_of_a_board() -> None:
    with pytest.raises(MoteError, match="cannot mark"):
        board_execution(session_of(StandIn()), Mode.MARK, [])


class Liar(StandIn):
    """A device that answers some requests with something of its own."""

    def __init__(self, answers: dict[int, tuple[int, bytes]]) -> None:
        super().__init__()
        self.answers, self.asked = answers, 0

    def _execute(self, kind: int, data: bytes) -> tuple[int, bytes]:
        self.asked += 1
        return self.answers.get(kind) or super()._execute(kind, data)


def stopped(size: int) -> tuple[int, bytes]:
    return Status.STOPPED, struct.pack("<4IQ", 1, size, 0, 0, 10) + bytes(min(size, 8))


@pytest.mark.parametrize("size", [0, 1, 8, 1 << 29])
@pytest.mark.parametrize("tensors", [False, True])
def test_a_board_that_never_comes_to_an_end_is_refused(size: int, tensors: bool) -> None:
    """However large the tensors are of which it states that they can be read."""
    device = Liar({Request.RUN: stopped(size), Request.CONTINUE: stopped(size)})
    session = session_of(device)
    session.extent = ModelExtent((OUTPUT,), STEPS, traced_bytes=100, traced_parts=10)
    reason = "bytes of tensors, and the model has 100|has stopped 11 times" if tensors else "where nobody asked it to"
    with pytest.raises(LostBoardError, match=reason):
        session.inferences([inputs_of(1)], Wants(tensors=tensors))
    assert device.asked < 100


def test_a_board_that_states_outputs_without_end_is_refused() -> None:
    for bytes_stated in (OUTPUT - 1, OUTPUT + 1, 1 << 30):
        device = Liar({})
        session = session_of(device)
        session.extent = ModelExtent((OUTPUT,), STEPS)
        session.device.places[AgentRegion.OUTPUT, 0] = Placement(0, bytes_stated)
        with pytest.raises(LostBoardError, match=f"has {bytes_stated:,} bytes of output 0, and the model has 24"):
            output(session.device, 0)
        assert not device.asked


def test_a_board_that_states_ports_without_end_is_refused() -> None:
    class Many(StandIn):
        def _answer(self, kind: int, data: bytes) -> bytes:
            answer = bytearray(super()._answer(kind, data))
            if kind == Request.IDENTIFY:
                answer[4 * 12 : 4 * 13] = b"\xff\xff\xff\x7f"
            return bytes(answer)

    with pytest.raises(LostBoardError, match="has 2,147,483,647 inputs, outputs or memories"):
        _ = session_of(Many()).identity


def test_cycles_are_those_of_the_steps_of_the_model() -> None:
    session = session_of(StandIn())
    session.extent = ModelExtent((OUTPUT,), STEPS + 1)
    with pytest.raises(MoteError, match="counts the cycles of 3 steps, and the model has 4"):
        session.inferences([inputs_of(1)], Wants(steps=True))
    session.extent = ModelExtent((OUTPUT, OUTPUT), STEPS)
    with pytest.raises(LostBoardError, match="has 1 outputs, and the model has 2"):
        session.inferences([inputs_of(1)])


@pytest.mark.parametrize("stateful", [False, True])
def test_what_was_run_again_is_told(stateful: bool) -> None:
    device = StandIn()
    runs: list[int] = []

    def reset(kind: int) -> None:
        runs.append(kind)
        if kind == Request.RUN and runs.count(Request.RUN) in (4, 5):
            device.power_up()

    device.on_request = reset
    session = session_of(device)
    assert not board_execution(session, Mode.MEASURE, [[data] for data in inputs_of(5)], stateful=stateful).dumps[0]
    reason = "the board was reset, or another host talks to it"
    again = ["4 inferences", "1 inference"] if stateful else ["1 inference"] * 2
    assert session.interruptions == [Interruption(reason, each, "stand-in") for each in again]
    told = [f"stand-in was interrupted {{}}: {reason}; repeated: {each}" for each in again]
    lines = [told[0].format("once"), told[1].format("once")] if stateful else [told[0].format("2 times")]
    assert interruption_lines(session.interruptions) == lines
