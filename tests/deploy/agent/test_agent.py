"""The agent on this computer, against a model of the right answers: any requests, damaged lines, resets."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agent_tables
from mote.deploy.update.messages import Type
from mote.deploy.wire.frames import ANSWER, FrameReader, Message
from mote.hardware import targets
from mote.hardware.toolchain.compilers import find_compiler
from tests.deploy.agent.agent_bench import (
    AGENT,
    CONTINUE,
    CYCLES,
    DEPLOY,
    IDENTIFY,
    INCLUDE,
    INPUT,
    LOAD,
    MALFORMED,
    NO_STOP,
    OK,
    OUTPUT,
    OUTSIDE,
    READ,
    REGION,
    RUN,
    SANITIZED,
    STOPPED,
    UNKNOWN,
    WARNINGS,
    WRITE,
    Expected,
    HostAgent,
    built,
    words,
)
from tests.deploy.update.update_bench import image
from tests.helpers.support import emulated, examples, needs

THOROUGH = "MOTE_FUZZ" in os.environ
TRIED, FUZZED = (30_000, 100), (2_500_000, 1_000)
"""Requests over a line that damages four in ten of them or of their answers, and resets: in `make test`, and in `make
fuzz`."""


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> HostAgent:
    path = built(tmp_path_factory.mktemp("agent") / "agent.so", "-O1", "-shared", "-fPIC")
    return HostAgent(ctypes.CDLL(str(path)))


def comparable(request: Message, answer: Message) -> Message:
    """An answer without addresses and cycles."""
    data = answer.data
    if request.type in (RUN, CONTINUE) and len(data) > 4:
        data = data[:20] + data[28:]
    if request.type == REGION and len(data) == 12 and request.data[4] < 6:
        data = data[:4] + bytes(4) + data[8:]
    if request.type == READ and request.data[4:5] == bytes([CYCLES]):
        data = data[:4] + bytes(len(data) - 4)
    return replace(answer, data=data)


def check(agent: HostAgent, streams: Sequence[bytes]) -> list[list[Message]]:
    """Every answer is the right one. Memory is cleared between resets, as the reference has it."""
    found = agent.answers([part for stream in streams for part in (memories_cleared(), stream)])[1::2]
    for stream, answers in zip(streams, found, strict=True):
        known = Expected()
        said = []
        for request in FrameReader().take(stream):
            answer = known.answer(request)
            if answer is not None:
                said.append((request, answer))
        assert [comparable(r, a) for (r, _), a in zip(said, answers, strict=False)] == [
            comparable(r, Message(a.type, a.sequence, with_room(r, a.data))) for r, a in said
        ]
        assert len(answers) == len(said)
    return found


def with_room(request: Message, data: bytes) -> bytes:
    """What the reference says of a run, with cycles."""
    return data[:20] + bytes(8) + data[20:] if request.type in (RUN, CONTINUE) and len(data) > 4 else data


def memories_cleared() -> bytes:
    """Requests that fill all memories with zeros, as the reference has them."""
    blank = [(0, 0, 33), (0, 1, 8), (4, 0, 64), (5, 0, 96)]
    sent = [Message(IDENTIFY, 0, words(99))]
    for number, (region, index, count) in enumerate(blank, 1):
        sent.append(Message(WRITE, number, words(99) + bytes([region, index, 0, 0]) + words(0) + bytes(count)))
    return b"".join(m.framed for m in sent)


near = st.one_of(st.integers(0, 100), st.sampled_from([0xFFFFFFFF, 0xFFFFFFFC, 0x7FFFFFFF, 502, 503]))
places = st.tuples(st.integers(0, 8), st.integers(0, 3)).map(lambda at: bytes([*at, 0, 0]))
stops = st.sampled_from([0, 1, 2, 3, NO_STOP])
arguments = {
    IDENTIFY: st.just(b""),
    REGION: places,
    READ: st.builds(lambda at, offset, count: at + words(offset, count), places, near, near),
    WRITE: st.builds(lambda at, offset, data: at + words(offset) + data, places, near, st.binary(max_size=40)),
    RUN: st.builds(lambda flags, stop: words(flags, stop), st.integers(0, 15), stops),
    CONTINUE: st.builds(words, stops),
    LOAD: st.builds(words, st.integers(0, 100), st.integers(0, 0xFFFFFFFF)),
    0x29: st.binary(max_size=9),
    0x7F: st.binary(max_size=9),
}
whole_input = st.binary(min_size=33, max_size=33).map(lambda data: bytes([INPUT, 0, 0, 0]) + words(0) + data)


@st.composite
def conversations(draw: st.DrawFn) -> bytes:
    """A stream with sessions, requests that are right, odd, repeated, old, damaged or cut off, and noise."""
    session, sequence = draw(st.integers(1, 3)), draw(st.integers(0, 255))
    sent = [Message(IDENTIFY, sequence, words(session))]
    stream = sent[0].framed if draw(st.integers(0, 9)) else b""
    for _ in range(draw(st.integers(1, 30))):
        how = draw(st.integers(0, 19))
        if how == 0:
            session = draw(st.integers(0, 3))
        if how == 1:
            message = draw(st.sampled_from(sent))
        elif how == 2:
            message = sent[-1]
        else:
            kind = draw(st.sampled_from([IDENTIFY, *arguments, WRITE, RUN, CONTINUE, RUN, CONTINUE, READ]))
            data = draw(whole_input if kind == WRITE and how > 12 else arguments[kind])
            data = data[: draw(st.integers(0, len(data)))] if how == 3 else data
            sequence = (sequence + draw(st.sampled_from([1, 1, 1, 1, 1, 0, 2, 100]))) % 256
            message = Message(kind, sequence, words(session) + data)
        sent.append(message)
        framed = bytearray(message.framed)
        if how == 4:
            framed[draw(st.integers(0, len(framed) - 1))] ^= 1 << draw(st.integers(0, 7))
        if how == 5:
            del framed[draw(st.integers(0, len(framed) - 1)) :]
        if how == 6:
            at = draw(st.integers(0, len(framed) - 1))
            framed[at:at] = draw(st.binary(max_size=6))
        if how == 7:
            framed = bytearray(Message(message.type | ANSWER, message.sequence, message.data).framed)
        stream += bytes(framed)
    return stream


@given(streams=st.lists(conversations(), min_size=1, max_size=3))
@settings(max_examples=examples(100), deadline=None)
def test_every_answer_is_the_right_one(agent: HostAgent, streams: list[bytes]) -> None:
    check(agent, streams)


@given(noise=st.binary(max_size=600), then=st.binary(max_size=33))
@settings(max_examples=examples(50), deadline=None)
def test_it_answers_behind_any_noise(agent: HostAgent, noise: bytes, then: bytes) -> None:
    """Noise may end in the middle of a frame: the frame behind it is lost then, and asked for again."""
    request = Message(IDENTIFY, 1, words(5)).framed
    (answers,) = agent.answers([noise + request + request])
    assert answers and answers[-1].data[:4] == words(OK)


def conversation(*requests: tuple[int, bytes], session: int = 5) -> bytes:
    """An IDENTIFY, then these requests with numbers from 1 on."""
    sent = [Message(IDENTIFY, 0, words(session))]
    sent += [Message(kind, number, words(session) + data) for number, (kind, data) in enumerate(requests, 1)]
    return b"".join(m.framed for m in sent)


ALL = bytes([INPUT, 0, 0, 0]) + words(0) + bytes(range(33))
OUTPUTS = bytes([OUTPUT, 0, 0, 0]) + words(0, 20)


def test_a_request_is_executed_once_and_answered_as_often_as_it_comes(agent: HostAgent) -> None:
    """The model's state counts inferences, so that a second one would show."""
    run = Message(RUN, 2, words(5) + words(1, NO_STOP)).framed
    stream = conversation((WRITE, ALL)) + 3 * run + Message(READ, 3, words(5) + OUTPUTS).framed
    (answers,) = check(agent, [stream])
    assert [a.sequence for a in answers] == [0, 1, 2, 2, 2, 3]
    assert answers[2] == answers[3] == answers[4]


def test_a_stop_shows_its_tensor_and_its_answer_comes_again(agent: HostAgent) -> None:
    run = Message(RUN, 2, words(5) + words(1, 0)).framed
    onward = Message(CONTINUE, 3, words(5) + words(1)).framed
    (answers,) = check(agent, [conversation((WRITE, ALL)) + run + run + onward + onward])
    first, again, second, twice = answers[2:]
    assert first == again and second == twice
    assert struct.unpack_from("<III", first.data) == (STOPPED, 0, 16) and len(first.data) == 28 + 16
    assert struct.unpack_from("<III", second.data) == (STOPPED, 1, 33)


@pytest.mark.parametrize(
    "region", [(INPUT, 0, 33), (INPUT, 1, 8), (OUTPUT, 0, 20), (CYCLES, 0, 24), (4, 0, 64), (5, 0, 96)]
)
def test_regions_end_where_they_end(agent: HostAgent, region: tuple[int, int, int]) -> None:
    kind, index, size = region
    at = bytes([kind, index, 0, 0])
    ends = [
        (0, size),
        (size, 0),
        (size - 1, 1),
        (0, size + 1),
        (size, 1),
        (size + 1, 0),
        (2**32 - 4, 8),
        (2**32 - 1, 1),
    ]
    reads = [(READ, at + words(offset, count)) for offset, count in ends]
    writes = [(WRITE, at + words(offset) + bytes(count)) for offset, count in ends]
    (answers,) = check(agent, [conversation((WRITE, ALL), (RUN, words(1, NO_STOP)), *reads, *writes)])
    said = [struct.unpack_from("<I", a.data)[0] for a in answers[3:]]
    assert said[:8] == [OK] * 3 + [OUTSIDE] * 5
    assert said[8:] == ([OUTSIDE] * 8 if kind in (OUTPUT, CYCLES) else said[:8])


def test_a_new_host_takes_over_a_model_that_has_stopped(agent: HostAgent) -> None:
    """It runs out, and what the old host asks from then on is refused."""
    stopped = conversation((WRITE, ALL), (RUN, words(1, 0)))
    stream = stopped + Message(IDENTIFY, 9, words(6)).framed + Message(CONTINUE, 3, words(5) + words(0)).framed
    (answers,) = check(agent, [stream + Message(READ, 10, words(6) + OUTPUTS).framed])
    assert [struct.unpack_from("<I", a.data)[0] for a in answers] == [OK, OK, STOPPED, OK, 2, 6]


def test_cycles_of_steps_add_up_to_those_of_the_inference(agent: HostAgent) -> None:
    """The counter of host_agent.c goes on by 10 at each reading, which is what the hook costs there."""
    reads = bytes([CYCLES, 0, 0, 0]) + words(0, 24)
    for stop in (NO_STOP, 1):
        requests = [(WRITE, ALL), (RUN, words(1, stop)), *([(CONTINUE, words(NO_STOP))] if stop == 1 else [])]
        (answers,) = agent.answers([conversation(*requests, (READ, reads))])
        (total,) = struct.unpack_from("<Q", answers[-2].data, 20)
        assert total == sum(struct.unpack("<3Q", answers[-1].data[4:])) == 0


def test_images_are_loaded_only_where_they_are_whole(agent: HostAgent) -> None:
    image = b"M" + bytes(range(40))
    write = (WRITE, bytes([5, 0, 0, 0]) + words(0) + image)
    right, wrong = ((LOAD, words(41, crc32(image) ^ bit)) for bit in (0, 1))
    (answers,) = check(agent, [conversation(write, right, wrong, (LOAD, words(97, 0)), (LOAD, words(3, 0)))])
    assert [struct.unpack_from("<I", a.data)[0] for a in answers[1:]] == [OK, OK, 8, 5, 8]


PRODUCTION = {
    ("RUNS",): ({RUN, CONTINUE}, 0x1C7),
    ("LOADS",): ({LOAD, 0x27, 0x28}, 0x03F),
    ("RUNS", "LOADS"): ({WRITE, RUN, CONTINUE, LOAD, 0x27, 0x28}, 0x007),
}


@pytest.mark.parametrize("without", PRODUCTION, ids="+".join)
def test_a_production_build_knows_no_requests_that_change_the_device(tmp_path: Path, without: tuple[str, ...]) -> None:
    unknown, abilities = PRODUCTION[without]
    path = built(tmp_path / "agent.so", "-O1", "-shared", "-fPIC", *(f"-DMOTE_AGENT_{name}=0" for name in without))
    agent = HostAgent(ctypes.CDLL(str(path)))
    requests = [(kind, b"") for kind in range(REGION, 0x29) if kind != 0x28 or kind in unknown]
    (answers,) = agent.answers([conversation(*requests)])
    assert struct.unpack_from("<3I", answers[0].data)[2] == abilities | (8 if len(without) == 1 else 0)
    said = {a.type & ~ANSWER: struct.unpack_from("<I", a.data)[0] for a in answers[1:]}
    assert said == {kind: UNKNOWN if kind in unknown else MALFORMED for kind, _ in requests}
    inside = bytes([INPUT, 0, 0, 0]) + words(0, 4), bytes([4, 0, 0, 0]) + words(0, 4)
    (answers,) = agent.answers([conversation(*((READ, where) for where in inside))])
    refused = [struct.unpack_from("<I", a.data)[0] == 5 for a in answers[1:]]
    assert refused == ["RUNS" in without, "LOADS" in without]


def test_updates_come_over_the_same_line(tmp_path: Path) -> None:
    """Between two requests to the agent; where its model has stopped they are left alone."""
    updates = DEPLOY / "update"
    names = ("update", "examine", "journal", "delta", "ota")
    extra = ["-DMOTE_AGENT_UPDATES=1", f"-I{updates}", *(str(updates / f"mote_{name}.c") for name in names)]
    agent = HostAgent(ctypes.CDLL(str(built(tmp_path / "agent.so", "-O1", "-shared", "-fPIC", *extra))))
    sent = image(3, bytes(range(200)) * 3)
    asked = [Message(Type.HELLO, 1, bytes([1, 0, 0, 0])), Message(Type.BEGIN, 2, words(0, len(sent), crc32(sent)))]
    asked += [
        Message(Type.DATA, 3 + number, words(at) + sent[at : at + 300])
        for number, at in enumerate(range(0, len(sent), 300))
    ]
    asked.append(Message(Type.FINISH, 99))
    stopped = conversation((WRITE, ALL), (RUN, words(1, 0)))
    stream = b"".join(m.framed for m in asked) + stopped + asked[0].framed
    (answers,) = agent.answers([stream])
    assert [a.type for a in answers] == [m.type | ANSWER for m in asked] + [
        kind | ANSWER for kind in (IDENTIFY, WRITE, RUN)
    ]
    assert all(a.data[:4] == words(0) for a in answers[: len(asked)])
    assert struct.unpack_from("<I", answers[-1].data)[0] == STOPPED


def test_no_damage_and_no_reset_makes_a_wrong_answer(tmp_path: Path) -> None:
    """A host in C runs inferences over a bad line, under the sanitizers; `make fuzz` damages a million frames."""
    program = built(tmp_path / "agent", *SANITIZED, "-DSTANDALONE")
    frames, resets = FUZZED if THOROUGH else TRIED
    done = subprocess.run([str(program), str(frames), str(resets), "1"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    numbers = dict(zip(*[iter(re.findall(r"\w+", done.stdout))] * 2, strict=True))
    assert int(numbers["resets"]) == resets and int(numbers["damaged"]) > frames * 0.4
    assert int(numbers["inferences"]) > frames / 12 and int(numbers["stops"]) > frames / 30


def test_any_messages_stay_inside_of_their_regions(tmp_path: Path) -> None:
    """Random messages with a right sum, under the sanitizers: the target for libFuzzer with inputs of its own."""
    main = tmp_path / "main.c"
    main.write_text(
        """\
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int main(int count, char **arguments) {
    static const uint8_t likely[] = {0, 0, 0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 33, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 255};
    uint64_t seed = 88172645463325252u;
    (void)count;
    for (long turn = atol(arguments[1]); turn != 0; turn--) {
        uint8_t data[700];
        size_t size = 1 + (size_t)(seed % sizeof data);
        for (size_t i = 0; i < size; i++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            data[i] = (uint8_t)((seed & 256) != 0 ? seed >> 40 : likely[(seed >> 40) % sizeof likely]);
        }
        data[0] = (uint8_t)(turn % 3);
        if (size > 7) data[1] = 2, data[2] = 0x20, data[3] = 0; /* IDENTIFY opens session 1 */
        (void)LLVMFuzzerTestOneInput(data, size);
    }
    return 0;
}
""",
        encoding="utf-8",
    )
    program = built(tmp_path / "agent", *SANITIZED, str(main))
    subprocess.run([str(program), str(300_000 if THOROUGH else 2_000)], check=True)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_it_compiles_without_a_warning(compiler: str) -> None:
    """As C99 and as C++11, with everything and with as little as can be."""
    needs(compiler)
    for language in (["-std=c99"], ["-xc++", "-std=c++11"]):
        for left_out in ([], ["-DMOTE_AGENT_RUNS=0"], ["-DMOTE_AGENT_RUNS=0", "-DMOTE_AGENT_LOADS=0"]):
            flags = [*language, *WARNINGS, *left_out, "-DMOTE_AGENT_UPDATES=1", "-O2", "-fsyntax-only"]
            subprocess.run([compiler, *flags, *INCLUDE, *map(str, AGENT)], check=True)


MOST_CODE = 4096
PAGE = Path(__file__).parents[3] / "docs" / "deploy" / "agent.md"


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", agent_tables.CORES)
def test_it_is_small(core: str) -> None:
    """And a build for production smaller; the page says how small."""
    if find_compiler(targets.load(emulated(core))).kind != "gcc":
        pytest.skip("code is counted as gcc compiles it")
    page = PAGE.read_text(encoding="utf-8")
    whole, running, asking = (agent_tables.sizes(core, flags) for flags in agent_tables.BUILDS.values())
    assert whole[0] <= MOST_CODE
    assert asking[0] < running[0] - 500 and running[0] < whole[0] - 200
    assert asking[1] < running[1] - 2048
    for build, (code, ram) in zip(agent_tables.BUILDS, (whole, running, asking), strict=True):
        told = re.search(rf"^\| {re.escape(build)} \| `{core}` \| ([\d,]+) \| ([\d,]+) \|$", page, re.M)
        assert told
        assert [int(number.replace(",", "")) for number in told.groups()] == pytest.approx([code, ram], rel=0.05)
