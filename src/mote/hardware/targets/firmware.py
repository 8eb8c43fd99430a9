"""Data of a part for complete firmware: boot header, serial port, and names in flash tools."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mote.hardware.targets.values import bad, check_keys, cut, is_whole

HEADERS = ("rp2040", "rp2350")
"""Boot headers that a part's boot ROM looks for next to the vector table."""
UARTS = ("cmsdk", "nrf", "ns16550", "pl011", "stm32", "stm32f4")
"""UART types by register layout: `stm32f4` has SR and DR, `stm32` the newer ISR and TDR."""
HOW = ("=", "|=", "&=~", "wait")
"""Kinds of register access: write, set bits, clear bits, or wait until bits are set."""
_WORD = (1 << 32) - 1


@dataclass(frozen=True)
class Touch:
    """One access to a hardware register."""

    address: int
    how: str
    value: int


@dataclass(frozen=True)
class Boot:
    """The table `[firmware]`: how a part boots."""

    header: str = ""
    refused: str = ""
    """The reason why no complete firmware can be built for the part."""
    remedy: str = ""
    setup: tuple[Touch, ...] = ()
    """Register accesses before memories can be used."""
    unready: tuple[tuple[str, str], ...] = ()
    """Memories that need initialization by the board's own code, and the reason."""
    uf2_family: int | None = None
    uf2_origin: int | None = None
    """The flash address after a UF2 boot loader; by default the start of flash."""


@dataclass(frozen=True)
class SerialPort:
    """The table `[serial]`: the UART that firmware prints to."""

    kind: str
    base: int
    pin: str = ""
    """Name, pins and baud rate of the UART, as text for the user."""
    setup: tuple[Touch, ...] = ()
    """Register accesses that initialize clocks, pins and the UART."""


@dataclass(frozen=True)
class Flashing:
    """The table `[flash]`: the part's names in tools that write its flash."""

    openocd: str = ""
    """OpenOCD's target file."""
    probe: str = ""
    """OpenOCD's name of the usual debug probe."""
    pyocd: str = ""
    probe_rs: str = ""
    esptool: str = ""
    picotool: bool = False
    dfu: bool = False
    """Whether its boot ROM supports USB DFU with ST's extensions."""
    drive: str = ""
    """Volume label of the drive that its UF2 boot loader shows."""


_NAME = re.compile(r"[\w.+-]{1,64}", re.ASCII)
_OPENOCD = re.compile(r"target/[\w-]{1,64}\.cfg", re.ASCII)
_Check = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()


def _word(value: Any) -> bool:
    return is_whole(value, 0, _WORD)


def _name(value: Any) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _touches(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(row, list) and len(row) == 3 and _word(row[0]) and row[1] in HOW and _word(row[2]) for row in value
    )


def _reasons(value: Any) -> bool:
    return isinstance(value, dict) and all(_text(why) for why in value.values())


_SETUP = (_touches, "a list of [address, one of " + " ".join(HOW) + ", value]")
_BOOT: dict[str, tuple[_Check, str]] = {
    "header": (lambda v: v in HEADERS, f"one of {', '.join(HEADERS)}"),
    "refused": (_text, "a reason"),
    "remedy": (_text, "a sentence"),
    "setup": _SETUP,
    "unready": (_reasons, "a table of memories and reasons"),
    "uf2_family": (_word, "a 32-bit number"),
    "uf2_origin": (_word, "an address"),
}
_SERIAL: dict[str, tuple[_Check, str]] = {
    "kind": (lambda v: v in UARTS, f"one of {', '.join(UARTS)}"),
    "base": (_word, "an address"),
    "pin": (_text, "a string"),
    "setup": _SETUP,
}
_FLASH: dict[str, tuple[_Check, str]] = {
    "openocd": (lambda v: isinstance(v, str) and _OPENOCD.fullmatch(v) is not None, "a file target/NAME.cfg"),
    "probe": (_name, "a name"),
    "pyocd": (_name, "a name"),
    "probe_rs": (_name, "a name"),
    "esptool": (_name, "a name"),
    "picotool": (lambda v: isinstance(v, bool), "true or false"),
    "dfu": (lambda v: isinstance(v, bool), "true or false"),
    "drive": (_name, "a label"),
}


def read_boot(path: Path, keys: Any) -> Boot:
    """Read the table `[firmware]` of a target file."""
    _check(path, "firmware", keys, _BOOT)
    return Boot(**{**keys, "setup": _read_touches(keys), "unready": tuple(keys.get("unready", {}).items())})


def read_serial(path: Path, keys: Any) -> SerialPort | None:
    """Read the table `[serial]` of a target file; None: it has none."""
    if keys is None:
        return None
    _check(path, "serial", keys, _SERIAL)
    for key in ("kind", "base"):
        if key not in keys:
            raise bad(path, f"in [serial]: '{key}' is missing")
    return SerialPort(**{**keys, "setup": _read_touches(keys)})


def read_flashing(path: Path, keys: Any) -> Flashing:
    """Read the table `[flash]` of a target file. Paths of user files are rejected because OpenOCD would execute
    them."""
    _check(path, "flash", keys, _FLASH)
    return Flashing(**keys)


def _read_touches(keys: dict[str, Any]) -> tuple[Touch, ...]:
    return tuple(Touch(*row) for row in keys.get("setup", ()))


def _check(path: Path, table: str, keys: Any, known: dict[str, tuple[_Check, str]]) -> None:
    check_keys(path, table, keys, known)
    for key, value in keys.items():
        is_right, what = known[key]
        if not is_right(value):
            raise bad(path, f"in [{table}]: '{key}' must be {what}, not {cut(value)}")
