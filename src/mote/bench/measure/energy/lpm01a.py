"""Parses the serial output of an X-NUCLEO-LPM01A current meter (ST UM2269).

As text each sample is a line `6409-07`: 6409 x 10
-7 A. In binary it is two bytes: a power of 1/16 in the upper four bits and a 12-bit integer. Binary messages begin with
0xF0 and a type byte and end with two bytes 0xFF. There are no marks."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from mote.base.errors import MoteError
from mote.bench.measure.energy.capture import Reals

_SAMPLE = re.compile(rb"\d{4}[+-]\d{2}")
_TIMESTAMP = re.compile(rb"timestamp:?\s*(\d{1,9})\s*s(?:\D{1,9}(\d{1,9})\s*ms)?", re.IGNORECASE)
_FREQUENCY = re.compile(rb"ack\s+freq\s+(\d{1,9})(k?)")
_VOLTAGE = re.compile(rb"ack\s+volt\s+(\d{1,9})(m?)")
_BEGIN, _ERROR, _TIME, _OVER, _POWERED, _VOLTS = 0xF0, 0xF1, 0xF3, 0xF5, 0xF6, 0xF7
_END = b"\xff\xff"
_BODY = {_TIME: 5, _VOLTS: 2}
"""Length of fixed-size binary messages by type."""
_LOOKED_AT = 4096


@dataclass(frozen=True)
class DumpedCurrents:
    """Currents at a constant sample rate."""

    times: Reals
    amperes: Reals
    volts: float | None = None
    """Supply voltage, if stated in the dump."""


def is_dump(data: bytes) -> bool:
    """Whether data looks like a dump of this meter."""
    start = data[:_LOOKED_AT]
    if b"PowerShield" in start or bytes([_BEGIN, _TIME]) in start or bytes([_BEGIN, _VOLTS]) in start:
        return True
    lines = [line.strip() for line in start.splitlines()[:8] if line.strip()]
    return bool(lines) and any(_SAMPLE.fullmatch(line) for line in lines)


def read_dump(file: str, data: bytes, sample_rate: float | None) -> DumpedCurrents:
    """Reads a text or binary dump. The sample rate is the given one, else that of the command in the dump, else derived
    from time stamps."""
    text = _is_text(data)
    amperes, stamps, volts, rate = _read_text(file, data) if text else _read_binary(file, data)
    rate = sample_rate or rate or _rate(stamps)
    if not len(amperes):
        raise MoteError("has no samples", where=file, remedy="dump what the board sends after `start`")
    if rate is None:
        raise MoteError(
            "does not say how many samples it has a second", where=file, remedy="state it: --sample-rate 100000"
        )
    return DumpedCurrents(np.arange(len(amperes), dtype=np.int64) / rate, amperes, volts)


def _is_text(data: bytes) -> bool:
    start = data[:_LOOKED_AT]
    return all(byte in b"\r\n\t" or 32 <= byte < 127 for byte in start)


Stamps = list[tuple[int, float]]
"""Time stamps: (number of samples before it, seconds)."""


def _read_text(file: str, data: bytes) -> tuple[Reals, Stamps, float | None, float | None]:
    amperes: list[float] = []
    stamps: Stamps = []
    volts = rate = None
    for number, whole in enumerate(data.splitlines(), 1):
        line = whole.strip()
        if _SAMPLE.fullmatch(line):
            amperes.append(int(line[:4]) * 10.0 ** int(line[4:]))
        elif match := _TIMESTAMP.search(line):
            stamps.append((len(amperes), int(match[1]) + int(match[2] or 0) * 1e-3))
        elif match := _FREQUENCY.search(line):
            rate = float(match[1]) * (1e3 if match[2] else 1.0) or None
        elif match := _VOLTAGE.search(line):
            volts = float(match[1]) * (1e-3 if match[2] else 1.0) or None
        elif line[:1].isdigit() or b"error" in line.lower():
            raise MoteError(
                f"{line[:40].decode('latin-1')!r} is no sample of an LPM01A",
                where=f"{file}, line {number}",
                remedy="capture it anew; samples are like 6409-07 (format ascii_dec)",
            )
    return np.array(amperes), stamps, volts, rate


def _read_binary(file: str, data: bytes) -> tuple[Reals, Stamps, float | None, float | None]:
    """Parses a binary dump: samples between messages."""
    parts: list[bytes] = []
    samples, stamps, volts, at = 0, Stamps(), None, 0
    while at < len(data):
        begin = at
        while at + 1 < len(data) and data[at] < _BEGIN:
            at += 2
        parts.append(data[begin:at])
        samples += (at - begin) // 2
        if at + 1 >= len(data):
            break
        kind = data[at + 1]
        body = at + 2
        end = body + _BODY[kind] if kind in _BODY else data.find(_END, body)
        if data[at] != _BEGIN or kind < _ERROR or end < 0 or data[end : end + 2] not in (_END, _END[: len(data) - end]):
            raise MoteError(
                f"byte {at:,} begins neither a sample nor a message",
                where=file,
                remedy="bytes were lost: capture it anew, with a lower rate",
            )
        if kind == _TIME:
            stamps.append((samples, (int.from_bytes(data[body : body + 4], "big") & 0x7FFFFFFF) * 1e-3))
        elif kind == _VOLTS:
            volts = int.from_bytes(data[body : body + 2], "big") * 1e-3 or None
        elif kind in (_ERROR, _OVER, _POWERED):
            what = {_OVER: "an overcurrent", _POWERED: "that its target is off"}.get(kind, "an error")
            raise MoteError(f"the board reports {what} (byte {at:,})", where=file, remedy="capture it anew")
        at = end + 2
    words = np.frombuffer(b"".join(parts), ">u2").astype(np.int64)
    return (words & 0xFFF) / 16.0 ** (words >> 12), stamps, volts, None


def _rate(stamps: Stamps) -> float | None:
    """Sample rate from the first time stamp to the last."""
    if len(stamps) < 2 or stamps[-1][1] <= stamps[0][1]:
        return None
    rate = (stamps[-1][0] - stamps[0][0]) / (stamps[-1][1] - stamps[0][1])
    return rate or None
