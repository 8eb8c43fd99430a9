"""Reads captures in the export formats of meters, recognized by content.

- `csv`: any table with time and current, voltage and current, or power, and optionally marks;
- `ppk2`: CSV export or `.ppk2` file of Nordic's Power Profiler Kit II;
- `lpm01a`: serial output of ST's X-NUCLEO-LPM01A, text or binary (`lpm01a.py`);
- `joulescope`: CSV export of a Joulescope: seconds, amperes, volts and watts;
- `ina219`, `ina226`: Texas Instruments' I2C power monitors: raw registers or scaled values."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import numpy as np

from mote.base.documents import parse_json
from mote.base.errors import MoteError
from mote.base.files import read_file
from mote.base.text import printable
from mote.bench.measure.energy import lpm01a
from mote.bench.measure.energy.capture import IDLE, Capture, Reals, Whole, checked
from mote.bench.measure.energy.text_table import UNKNOWN, TextTable, read_table

METERS = ("csv", "ppk2", "lpm01a", "joulescope", "ina219", "ina226")
MOST_BYTES = 1 << 29
PINS = 8
"""Number of digital inputs of a PPK2."""
_UNITS = {
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "current": {"a": 1.0, "ma": 1e-3, "ua": 1e-6, "na": 1e-9},
    "voltage": {"v": 1.0, "mv": 1e-3, "uv": 1e-6},
    "power": {"w": 1.0, "mw": 1e-3, "uw": 1e-6, "nw": 1e-9},
}
_NAMES = {
    "time": ("time", "timestamp", "timestamps", "t", "seconds"),
    "current": ("current", "i", "amps", "amperes"),
    "voltage": ("voltage", "v", "volts", "bus"),
    "power": ("power", "p", "watts"),
    "shunt": ("shunt",),
    "step": ("step", "steps"),
    "pin": ("mark", "marks", "gpio", "level", "pin", "trigger"),
}
_RAW = ("raw", "register", "reg")
_DAMAGED = (BadZipFile, KeyError, ValueError, OSError, NotImplementedError, RuntimeError, EOFError, zlib.error)
"""Errors raised for damaged archives."""


@dataclass(frozen=True)
class I2cMeter:
    """Resolution of an I2C meter's registers."""

    shunt_volts: float
    bus_volts: float
    bus_shift: int


I2C_METERS = {
    "ina219": I2cMeter(10e-6, 4e-3, 3),
    "ina226": I2cMeter(2.5e-6, 1.25e-3, 0),
}
"""I2C meters by name, after data sheets SBOS448 (INA219) and SBOS547 (INA226): shunt voltage in register 01h, bus
voltage in 02h."""


def read_capture(
    file: str | Path, meter: str | None = None, *, volts: float | None = None, sample_rate: float | None = None
) -> Capture:
    """Reads a capture. `volts` is the supply voltage for meters that only measure current; `sample_rate` is in Hz, for
    files without times."""
    name = str(file)
    if meter is not None and meter not in METERS:
        raise MoteError(f"unknown meter '{printable(meter)}'", where="option meter", remedy=f"one of: {METERS}")
    for option, value in (("volts", volts), ("sample_rate", sample_rate)):
        if value is not None and not 0 < value < np.inf:
            raise MoteError(f"must be a positive number, not {value:g}", where=f"option {option}")
    data = read_file(file, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise MoteError(f"is longer than {MOST_BYTES >> 20} MiB", where=name, remedy="cut it to a few inferences")
    if not data.strip():
        raise MoteError("is empty", where=name, remedy="export the capture anew")
    if data.startswith(b"PK") and meter in (None, "ppk2"):
        return checked(_ppk2_file(name, data, volts))
    if meter == "lpm01a" or (meter is None and lpm01a.is_dump(data)):
        samples = lpm01a.read_dump(name, data, sample_rate)
        watts = samples.amperes * _supply(name, volts, samples.volts)
        return checked(Capture(name, "lpm01a", samples.times, watts, volts=volts or samples.volts))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MoteError(
            f"is neither text nor a dump of a meter that is known (byte {error.start})",
            where=name,
            remedy="export it as CSV: time, current, mark (docs/measure/energy.md)",
        ) from None
    return checked(_table(read_table(name, text), meter, volts, sample_rate))


def _supply(file: str, given: float | None, said: float | None) -> float:
    volts = given or said
    if volts is None:
        raise MoteError(
            "has currents and no voltage", where=file, remedy="state the supply voltage, for instance --volts 3.0"
        )
    return volts


def _table(table: TextTable, meter: str | None, volts: float | None, sample_rate: float | None) -> Capture:
    """A capture from a table, with columns recognized by name."""
    kind = meter or _kind(table)
    if kind not in METERS:
        raise MoteError(f"unknown meter '{printable(kind)}'", where=table.file, remedy=f"one of: {METERS}")
    columns = _columns(table, kind)
    said = _number(table, ("volts", "voltage", "supply"))
    current, voltage, power = (columns.get(name) for name in ("current", "voltage", "power"))
    if kind in I2C_METERS:
        current, voltage = _registers(table, I2C_METERS[kind], columns)
    if power is None and current is None:
        raise MoteError(
            f"has no column of a current or a power: {printable(', '.join(table.names)) or 'no names at all'}",
            where=table.file,
            remedy="name the columns in the first line: time_s, current_a, mark",
        )
    if power is None and current is not None:
        power = current * (voltage if voltage is not None else _supply(table.file, volts, said))
    assert power is not None
    pins = {name.removeprefix("pin "): _levels(values) for name, values in columns.items() if name.startswith("pin ")}
    step = columns.get("step")
    steps = None if step is None else np.where(np.isnan(step), IDLE, step).astype(np.int64)
    return Capture(table.file, kind, _times(table, columns.get("time"), sample_rate), power, pins, steps, volts or said)


def _kind(table: TextTable) -> str:
    """Recognizes the meter that exported a table."""
    if "meter" in table.head:
        return table.head["meter"].strip().lower()
    names = [_plain(name) for name in table.names]
    if names[:2] == ["timestamp ms", "current ua"]:
        return "ppk2"
    if any({"shunt", *_RAW} & set(name.split()) for name in names):
        raise MoteError(
            "has registers of an I2C meter, and does not say of which",
            where=table.file,
            remedy="write '# meter: ina226' above the names, or give --meter ina226",
        )
    return "joulescope" if names[:3] == ["time", "current", "voltage"] else "csv"


def _plain(name: str) -> str:
    """Column name normalized to lower case, without brackets, with units in plain letters."""
    return re.sub(r"[\[\](){}_/\s]+", " ", name.lower().replace("µ", "u").replace("μ", "u")).strip()


def _columns(table: TextTable, kind: str) -> dict[str, Reals]:
    """Columns by quantity, in SI units; digital inputs as `pin NAME`. The first of several counts."""
    if not table.names:
        usual = {"joulescope": ("time", "current", "voltage", "power"), "ppk2": ("time ms", "current ua", "D0-D7")}
        if kind not in usual:
            raise MoteError("has no line of column names", where=table.file, remedy="add one: time_s, current_a, mark")
        table = replace(table, names=usual[kind][: table.rows.shape[1]])
    columns: dict[str, Reals] = {}
    for name, values in zip(table.names, table.rows.T, strict=False):
        for key, converted in _column(name, values).items():
            columns.setdefault(key, converted)
    return columns


def _column(name: str, values: Reals) -> Mapping[str, Reals]:
    words = _plain(name).split()
    if words == ["d0-d7"]:
        digits = [np.floor(values / 10.0 ** (PINS - 1 - pin)) % 10 for pin in range(PINS)]
        return {f"pin D{pin}": np.where(digit == UNKNOWN, np.nan, digit) for pin, digit in enumerate(digits)}
    if len(words) == 1 and re.fullmatch(r"(d|gpi|gpio|in)\d", words[0]):
        return {f"pin {name.strip()}": values}
    if set(words) & set(_RAW):
        return {f"raw {kind}": values for kind in ("shunt", "bus", "current") if kind in words}
    for kind, known in _NAMES.items():
        anywhere = kind in ("time", "shunt") and set(words) & set(known)
        if anywhere or (words and words[0] in known):
            if kind == "pin":
                return {f"pin {name.strip()}": values}
            units = _UNITS.get("voltage" if kind == "shunt" else kind, {})
            return {kind: values * units.get(words[-1] if len(words) > 1 else "", 1.0)}
    return {}


def _registers(table: TextTable, meter: I2cMeter, columns: Mapping[str, Reals]) -> tuple[Reals | None, Reals | None]:
    """Current and voltage of an I2C meter: already scaled, or from raw registers."""
    current, voltage = columns.get("current"), columns.get("voltage")
    if voltage is None and "raw bus" in columns:
        voltage = np.floor(columns["raw bus"] / (1 << meter.bus_shift)) * meter.bus_volts
    if current is None and "raw current" in columns:
        lsb = _needed(table, ("current_lsb_a", "current_lsb"), "the amperes of a step of its register of the current")
        current = _signed(columns["raw current"]) * lsb
    if current is None:
        drop = columns.get("shunt")
        if drop is None and "raw shunt" in columns:
            drop = _signed(columns["raw shunt"]) * meter.shunt_volts
        if drop is not None:
            current = drop / _needed(table, ("shunt_ohms", "shunt"), "the resistance of the shunt in ohms")
    return current, voltage


def _signed(register: Reals) -> Reals:
    """Converts 16-bit two's complement to a signed number."""
    return np.where(register >= 1 << 15, register - (1 << 16), register)


def _number(table: TextTable, names: tuple[str, ...]) -> float | None:
    """Parses a positive number of the file header."""
    for name in names:
        if name in table.head:
            match = re.match(r"[-+]?[0-9.]+(?:[eE][-+]?\d+)?", table.head[name])
            value = _positive(match[0]) if match else None
            if value is None:
                raise MoteError(
                    f"'{name}' in its head must be a positive number, not {printable(table.head[name])[:40]!r}",
                    where=table.file,
                )
            return value
    return None


def _positive(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < np.inf else None


def _needed(table: TextTable, names: tuple[str, ...], what: str) -> float:
    value = _number(table, names)
    if value is None:
        raise MoteError(f"does not say {what}", where=table.file, remedy=f"write it above the names: # {names[0]}: 0.1")
    return value


def _times(table: TextTable, times: Reals | None, sample_rate: float | None) -> Reals:
    if times is not None:
        return times
    rate = sample_rate or _number(table, ("sample_rate_hz", "sample_rate", "frequency", "freq"))
    if rate is None:
        raise MoteError(
            "has no column of times", where=table.file, remedy="state the samples a second: --sample-rate 100000"
        )
    return np.arange(len(table.rows), dtype=np.int64) / rate


def _levels(values: Reals) -> Whole:
    """Levels of a digital input; unknown ones repeat the previous sample's."""
    known = ~np.isnan(values)
    last = np.maximum.accumulate(np.where(known, np.arange(len(values), dtype=np.int64), 0))
    return np.asarray(np.nan_to_num(values[last]) > 0.5, np.int64)


def _ppk2_file(file: str, data: bytes, volts: float | None) -> Capture:
    """Reads a `.ppk2` file: an archive with the sample rate and, per sample, a 32-bit float current in microamperes and
    two bits per digital input (1: low, 2: high, else unknown)."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            if sum(info.file_size for info in archive.infolist()) > MOST_BYTES:
                raise MoteError(f"holds more than {MOST_BYTES >> 20} MiB", where=file, remedy="save a part of it")
            raw, told = archive.read("session.raw"), parse_json(archive.read("metadata.json"))
    except _DAMAGED as error:
        kind = type(error).__name__
        raise MoteError(f"is not a .ppk2 file ({kind})", where=file, remedy="export it as CSV") from None
    about = told.get("metadata", told) if isinstance(told, dict) else {}
    rate = about.get("samplesPerSecond") if isinstance(about, dict) else None
    if not isinstance(rate, int | float) or isinstance(rate, bool) or not 0 < rate < np.inf:
        raise MoteError("does not say how many samples it has a second", where=file, remedy="export it as CSV")
    frames = np.frombuffer(raw[: len(raw) // 6 * 6], np.dtype([("microamperes", "<f4"), ("bits", "<u2")]))
    amperes = frames["microamperes"].astype(np.float64) * 1e-6
    states = [(frames["bits"] >> (2 * pin)) & 3 for pin in range(PINS)]
    pins = {f"D{pin}": _levels(np.array([np.nan, 0.0, 1.0, np.nan])[state]) for pin, state in enumerate(states)}
    return Capture(
        file,
        "ppk2",
        np.arange(len(frames), dtype=np.int64) / rate,
        amperes * _supply(file, volts, None),
        pins,
        None,
        volts,
    )
