"""Addresses of boards: `serial:/dev/ttyACM0@921600`, `tcp:HOST:PORT`, `qemu:TARGET` or `qemu:MACHINE`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import mote.hardware.targets as targets
from mote.base.errors import MoteError
from mote.base.text import did_you_mean, printable
from mote.hardware.targets import Target

BAUD = 115200
FORMS = "serial:/dev/ttyACM0[@BAUD], tcp:HOST:PORT, qemu:TARGET or qemu:MACHINE"
MACHINES = {
    "mps2-an385": "cortex-m3",
    "mps2-an386": "cortex-m4",
    "mps2-an500": "cortex-m7",
    "mps2-an505": "cortex-m33",
    "mps3-an547": "cortex-m55",
    "virt": "rv32imc",
}
"""QEMU machines usable as boards, with their default cores."""
_MOST_PORT = 65535


class LineKind(StrEnum):
    """Kinds of transports to a board."""

    SERIAL = "serial"
    TCP = "tcp"
    QEMU = "qemu"


@dataclass(frozen=True)
class BoardAddress:
    """Address of a board."""

    kind: LineKind
    place: str
    """Path of a serial port, host name, or name of an emulated target."""
    port: int = 0
    """TCP port."""
    baud: int = BAUD
    """Baud rate of a serial port."""

    def __str__(self) -> str:
        if self.kind is LineKind.SERIAL:
            return f"serial:{self.place}" + ("" if self.baud == BAUD else f"@{self.baud}")
        if self.kind is LineKind.TCP:
            return f"tcp:{f'[{self.place}]' if ':' in self.place else self.place}:{self.port}"
        return f"qemu:{self.place}"

    @property
    def is_emulated(self) -> bool:
        return self.kind is LineKind.QEMU

    @property
    def target(self) -> Target | None:
        """Target of an emulated board; None for real boards, whose agent knows."""
        return targets.load(self.place) if self.is_emulated else None


def is_address(text: str) -> bool:
    """Whether a text is an address rather than a board's name."""
    return text.partition(":")[0] in [*LineKind] and ":" in text


def parse_address(text: str) -> BoardAddress:
    """Parses an address."""
    kind, colon, place = text.partition(":")
    if not colon or kind not in [*LineKind]:
        guess = did_you_mean(kind, [*LineKind]) if colon else ""
        raise _bad(text, "is no address of a board", f"{guess}write {FORMS}")
    if not place or not place.isprintable():
        raise _bad(text, f"names nothing behind '{kind}:'", f"write {FORMS}")
    return {LineKind.SERIAL: _serial, LineKind.TCP: _tcp, LineKind.QEMU: _qemu}[LineKind(kind)](text, place)


def _serial(text: str, place: str) -> BoardAddress:
    path, at, speed = place.rpartition("@")
    if not at:
        return BoardAddress(LineKind.SERIAL, place)
    if not path or not _is_number(speed) or int(speed) == 0:
        raise _bad(text, f"'{speed}' is no speed in baud", f"write serial:/dev/ttyACM0@{BAUD}")
    return BoardAddress(LineKind.SERIAL, path, baud=int(speed))


def _tcp(text: str, place: str) -> BoardAddress:
    host, colon, port = place.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not colon or not bare or (":" in bare and bare == host):
        raise _bad(text, "has no host and port", "write tcp:192.168.0.7:4000, or tcp:[fe80::1]:4000")
    if not _is_number(port) or not 0 < int(port) <= _MOST_PORT:
        raise _bad(text, f"'{port}' is no port", f"a port is a number from 1 to {_MOST_PORT}")
    return BoardAddress(LineKind.TCP, bare, int(port))


def _qemu(text: str, place: str) -> BoardAddress:
    name = MACHINES.get(place, place)
    try:
        target = targets.load(name)
    except MoteError as error:
        machines = f"machines of QEMU that can be boards: {', '.join(MACHINES)}"
        raise _bad(text, f"is no target, and no machine of QEMU: {error.reason}", machines) from None
    if target.qemu_machine not in MACHINES:
        raise _bad(
            text,
            f"{target.name} has no emulated board",
            f"use a target that has one of the machines {', '.join(MACHINES)}, such as qemu:cortex-m4",
        )
    return BoardAddress(LineKind.QEMU, name)


def _is_number(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) < 10


def _bad(text: str, reason: str, remedy: str) -> MoteError:
    return MoteError(reason, where=f"board {printable(text)}", remedy=remedy)
