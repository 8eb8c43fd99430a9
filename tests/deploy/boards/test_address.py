"""Addresses are read as they are written, and everything else is refused with a remedy."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.deploy.boards.address import MACHINES, BoardAddress, LineKind, is_address, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("serial:/dev/ttyACM0", BoardAddress(LineKind.SERIAL, "/dev/ttyACM0")),
        ("serial:/dev/ttyACM0@921600", BoardAddress(LineKind.SERIAL, "/dev/ttyACM0", baud=921600)),
        ("serial:COM3", BoardAddress(LineKind.SERIAL, "COM3")),
        ("tcp:192.168.0.7:4000", BoardAddress(LineKind.TCP, "192.168.0.7", 4000)),
        ("tcp:[fe80::1]:4000", BoardAddress(LineKind.TCP, "fe80::1", 4000)),
        ("qemu:stm32l4r5", BoardAddress(LineKind.QEMU, "stm32l4r5")),
    ],
)
def test_addresses(text: str, address: BoardAddress) -> None:
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize(("machine", "core"), MACHINES.items())
def test_machines_of_qemu_are_cores(machine: str, core: str) -> None:
    address = parse_address(f"qemu:{machine}")
    assert address == parse_address(f"qemu:{core}")
    assert address.target is not None and address.target.qemu_machine == machine


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is no address of a board"),
        ("desk", "is no address of a board"),
        ("seriel:/dev/ttyACM0", "is no address of a board"),
        ("serial:", "names nothing"),
        ("serial:/dev/ttyACM0@fast", "'fast' is no speed"),
        ("serial:/dev/ttyACM0@0", "'0' is no speed"),
        ("tcp:4000", "has no host and port"),
        ("tcp:host:0", "'0' is no port"),
        ("tcp:host:65536", "'65536' is no port"),
        ("tcp:fe80::1:4000", "has no host and port"),
        ("qemu:nothing", "is no target, and no machine of QEMU"),
        ("qemu:esp32", "has no emulated board"),
        ("qemu:host", "has no emulated board"),
    ],
)
def test_what_is_no_address_is_refused(text: str, reason: str) -> None:
    with pytest.raises(MoteError, match=reason) as error:
        parse_address(text)
    assert error.value.remedy


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.text(max_size=30))
def test_any_text_is_an_address_or_an_error(text: str) -> None:
    for written in (text, f"tcp:{text}", f"serial:{text}"):
        try:
            address = parse_address(written)
        except MoteError:
            continue
        assert is_address(written)
        assert parse_address(str(address)) == address
