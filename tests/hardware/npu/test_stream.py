"""Payloads of Ethos-U are decoded and encoded byte for byte, and refused with a reason where they are malformed."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.hardware.npu.commands import CORES, Command, kinds, named
from mote.hardware.npu.stream import CommandStream, decode, made, operations
from tests.hardware.npu.compiled import compiled

EVERY_CORE = ("ethos-u55-32", "ethos-u55-128", "ethos-u65-256", "ethos-u65-512", "ethos-u85-128", "ethos-u85-1024")


@pytest.mark.parametrize("core", EVERY_CORE)
def test_streams_of_vela_come_back_byte_for_byte(core: str) -> None:
    for part in compiled("digits", core):
        stream = decode(part.payload)
        assert stream.config.name == core
        assert stream.form == "COP1"
        assert stream.encode() == part.payload
        assert stream.commands[-1].name == "STOP"


def test_the_second_container_comes_back_byte_for_byte() -> None:
    first, second = (compiled("digits", "ethos-u55-128", *o)[0] for o in ((), ("--cop-format", "COP2")))
    stream = decode(second.payload)
    assert stream.form == "COP2"
    assert stream.encode() == second.payload
    assert [c.encode() for c in stream.commands] == [c.encode() for c in decode(first.payload).commands]


def test_cores_say_how_many_weight_streams_they_read() -> None:
    cores = {name: decode(compiled("digits", name)[0].payload).config.cores for name in EVERY_CORE}
    assert cores == {
        "ethos-u55-32": 1,
        "ethos-u55-128": 1,
        "ethos-u65-256": 1,
        "ethos-u65-512": 2,
        "ethos-u85-128": 1,
        "ethos-u85-1024": 4,
    }


def test_codes_of_commands_are_those_of_vela() -> None:
    registers = pytest.importorskip("ethosu.vela.ethos_u55_regs.ethos_u55_regs", reason="ethos-u-vela is not installed")
    both = {kind.head: kind.name for core in ("ethos-u65", "ethos-u55") for kind in kinds(core).values()}
    theirs = {c.value: c.name for c in registers.cmd0} | {c.value | 1 << 14: c.name for c in registers.cmd1}
    assert {head: name.split("_", 2)[2] for head, name in theirs.items()} == both


@st.composite
def streams(draw: st.DrawFn) -> CommandStream:
    """Streams of any commands of a core with any values that their fields have."""
    core = draw(st.sampled_from(CORES))
    commands = []
    for kind in draw(st.lists(st.sampled_from(sorted(kinds(core).values(), key=lambda k: k.name)), max_size=30)):
        command = Command(kind)
        for field in kind.fields:
            low = -(1 << field.bits - 1) if field.signed else 0
            allowed = st.integers(low, low + (1 << field.bits) - 1)
            value = draw(allowed if field.values is None else st.sampled_from(sorted(field.values)))
            command = command.with_value(value, field.name)
            assert command[field.name] == value
        commands.append(command)
    return made(core, {"ethos-u55": 128, "ethos-u65": 256, "ethos-u85": 512}[core], commands)


@given(streams())
def test_whatever_is_encoded_is_decoded_again(stream: CommandStream) -> None:
    again = decode(stream.encode())
    assert [(c.kind, c.operand) for c in again.commands] == [(c.kind, c.operand) for c in stream.commands]
    assert again.config == stream.config
    assert again.encode() == stream.encode()


@given(streams(), st.lists(st.tuples(st.integers(0), st.integers(0, 255)), min_size=1, max_size=4), st.integers(0, 8))
def test_mutated_payloads_are_refused_or_decoded(
    stream: CommandStream, changes: list[tuple[int, int]], missing: int
) -> None:
    payload = bytearray(stream.encode())
    for place, value in changes:
        payload[place % len(payload)] = value
    changed = bytes(payload[: len(payload) - missing])
    try:
        again = decode(changed)
    except MoteError as error:
        assert error.where
        assert error.remedy
    else:
        assert again.encode() == changed


@given(st.binary(max_size=200), st.sampled_from((b"", b"COP1", b"COP2")))
def test_arbitrary_bytes_are_refused_or_decoded(data: bytes, mark: bytes) -> None:
    try:
        assert decode(mark + data).encode() == mark + data
    except MoteError as error:
        assert "byte" in error.where


def _payload(*words: int) -> bytes:
    return b"COP1" + struct.pack(f"<{len(words)}I", *words)


CONFIG = (0x00100001, 0x00001807, 0x10060000)
PADDING = (5, 5, 5)
STOP = 0xFFFF0000


@pytest.mark.parametrize(
    ("payload", "reason", "where"),
    [
        (b"", "0 bytes are no payload", "byte 0"),
        (b"COP3" + bytes(12), "begins with COP1 or COP2", "byte 0"),
        (_payload(*CONFIG)[:-1], "words of 4 bytes", "byte 12"),
        (_payload(3, *CONFIG), "action 3 is none that the driver knows", "byte 4"),
        (_payload(*CONFIG, *PADDING, 0x00020002, STOP), "has 2 words, and 1 words follow", "byte 28"),
        (_payload(*CONFIG, *CONFIG), "second configuration", "byte 16"),
        (_payload(0x01100001, *CONFIG[1:]), "reserved bits", "byte 4"),
        (_payload(*CONFIG, *PADDING, 0x00010002, STOP, *PADDING, 0x00010002, STOP), "second command stream", "byte 48"),
        (_payload(*CONFIG, 0x00010002, STOP), "multiple of 16 bytes", "byte 16"),
        (_payload(*CONFIG, 0x00010005), "reserved bits are set in the padding", "byte 16"),
        (_payload(5, 5, 5, *PADDING, 0x00010002, STOP), "no configuration comes before", "byte 28"),
        (_payload(*PADDING), "there is no configuration", "byte 4"),
        (_payload(*CONFIG), "no command stream", "byte 16"),
        (_payload(CONFIG[0], 0x70001807, CONFIG[2]), "product 7 is none", "byte 8"),
        (_payload(CONFIG[0], 0x0000180B, CONFIG[2]), "no ethos-u55 of 2048", "byte 8"),
        (_payload(CONFIG[0], 0x00001817, CONFIG[2]), "version 1 of command streams", "byte 8"),
        (_payload(*CONFIG[:2], 0x20000000), "architecture 2.0.0 is not that of ethos-u55", "byte 12"),
        (_payload(*CONFIG, *PADDING, 0x00010002, 0x00000007), "is no command of ethos-u55", "byte 32"),
        (_payload(*CONFIG, *PADDING, 0x00010002, 0x00004000), "IFM_BASE0 has no second word", "byte 32"),
        (_payload(*CONFIG, *PADDING, 0x00010002, 0x00800100), "IFM_PAD_TOP sets bits that must be 0", "byte 32"),
        (_payload(*CONFIG, *PADDING, 0x00010002, 0x00070005), "POOL has no mode 7 (there are: 0 MAX", "byte 32"),
    ],
)
def test_malformed_payloads_are_refused_where_they_are(payload: bytes, reason: str, where: str) -> None:
    with pytest.raises(MoteError) as error:
        decode(payload)
    assert reason in error.value.reason
    assert error.value.where.endswith(where)
    assert error.value.remedy


SECOND = struct.pack("<4sIQIII4sIIIIIQI", b"COP2", 1, 52, 1, 44, 36, b"VEUM", 1, 20, *CONFIG[1:], 2, 100, 0xFFFFFFFF)


def test_the_second_container_is_decoded() -> None:
    payload = SECOND + struct.pack("<I", STOP)
    stream = decode(payload)
    assert stream.config.name == "ethos-u55-128"
    assert [c.name for c in stream.commands] == ["STOP"]
    assert stream.encode() == payload
    longer = stream.with_commands([*stream.commands, stream.command("IFM_REGION", 1)])
    assert decode(longer.encode()).commands[-1].value == 1


@pytest.mark.parametrize("offset", [4, 8, 16, 20, 24, 28, 32, 36, 40, 44, 48])
def test_every_length_and_version_of_the_second_container_is_checked(offset: int) -> None:
    payload = bytearray(SECOND + struct.pack("<I", STOP))
    payload[offset + 3] ^= 0x40
    with pytest.raises(MoteError) as error:
        decode(bytes(payload))
    assert error.value.where.endswith(f"byte {offset}")


def test_operations_see_the_registers_that_were_set_before() -> None:
    table = named("ethos-u55")
    commands = [
        Command(table["IFM_ZERO_POINT"]).with_value(-128),
        Command(table["POOL"]).with_value(1),
        Command(table["IFM_ZERO_POINT"]).with_value(3),
        Command(table["STOP"]),
    ]
    pool, stop = operations(decode(made("ethos-u55", 128, commands).encode()))
    assert pool.command.said("mode") == "AVERAGE"
    assert (pool.value("IFM_ZERO_POINT"), stop.value("IFM_ZERO_POINT")) == (-128, 3)
    with pytest.raises(MoteError, match="OFM_REGION was not set") as error:
        pool.value("OFM_REGION")
    assert error.value.where == "POOL at byte 36"


def test_values_that_do_not_fit_are_refused() -> None:
    with pytest.raises(MoteError, match="8 does not fit the 3 bits of region"):
        Command(named("ethos-u55")["IFM_REGION"]).with_value(8)
    wide = Command(named("ethos-u65")["IFM_BASE0"]).with_value(0x1234567890)
    assert wide.encode() == bytes.fromhex("0040120090785634")
    assert wide.value == 0x1234567890


def test_distances_of_the_smallest_may_repeat_their_sign() -> None:
    stride = 0x4004
    assert decode(_payload(*CONFIG, *PADDING, 0x00020002, 0xFF << 16 | stride, 0xFFFFFFF0)).commands[0].value == -16
    for high, low in ((0xFF, 0x7FFFFFF0), (0xFE, 0xFFFFFFF0), (0x1FF, 0xFFFFFFF0), (1, 0)):
        with pytest.raises(MoteError, match="IFM_STRIDE_X sets bits that must be 0"):
            decode(_payload(*CONFIG, *PADDING, 0x00020002, high << 16 | stride, low))
