"""The memories of a target, and the cycles that reading from them costs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mote.base.errors import MoteError
from mote.base.text import did_you_mean, printable
from mote.hardware.targets.values import bad, cut, is_whole, parse_size

KINDS = ("flash", "ram")
HOLDS = ("code", "data")
KEPT = "kept"
"""Name, in C identifiers, of the memory for a model's persistent state; no target memory may have this name."""
WORD = 4
"""Bytes that a core requests at a time from memory without a cache."""

_MOST_BYTES = 1 << 40
_MOST_ADDRESS = (1 << 64) - 1
_MOST_WAIT = 10**6
_NEEDED = ("name", "kind", "size")
_READS_WHOLE = {
    "wait_states": (0, 10_000),
    "read_bytes": (1, 4096),
    "line_bytes": (1, 4096),
    "code_lines": (1, 1 << 20),
    "data_lines": (0, 1 << 20),
    "ways": (1, 1 << 20),
}
"""Integer keys, with their minimum and maximum."""
_READS_BOOL = ("prefetch", "shared_lines")
READS = (*_READS_WHOLE, *_READS_BOOL, "source")
"""Keys that state the cost of reading, in a `[[memory]]` table, or in `[reads]` for a core without memories."""
_OTHERS = ("origin", "wait", "section", "holds")


@dataclass(frozen=True)
class Reads:
    """The cost of reading a memory at the target's clock, including its cache. The default has no wait states."""

    wait_states: int = 0
    """Extra cycles of one read."""
    read_bytes: int = 16
    """Bytes of one read: the width of flash, or the burst length of external memory."""
    prefetch: bool = False
    """Whether the line after the executing one is prefetched; data is never prefetched."""
    line_bytes: int = 16
    """Bytes of a cache line: one read or several."""
    code_lines: int = 1
    """Number of cache lines for code; at least the executing line is cached."""
    data_lines: int = 0
    """Number of cache lines for constants; 0: every access waits."""
    shared_lines: bool = False
    """Whether the `code_lines` cache lines are shared by code and constants."""
    ways: int | None = None
    """Associativity of the cache, with LRU replacement; None: fully associative."""
    source: str = ""
    """Source of these numbers, and which of them are uncertain."""

    def __str__(self) -> str:
        if not self.waits:
            return "no wait states"
        states = "wait state" if self.wait_states == 1 else "wait states"
        parts = [f"{self.wait_states} {states}", f"{8 * self.read_bytes}-bit reads"]
        parts += ["prefetch"] if self.prefetch else []
        lines = f"lines of {self.line_bytes} bytes"
        if self.shared_lines:
            parts.append(f"{self.code_lines} {lines} for code and constants")
        elif self.data_lines:
            parts.append(f"{self.code_lines} {lines} for code and {self.data_lines} for constants")
        else:
            parts.append(f"{self.code_lines} {lines} for code, none for constants")
        return ", ".join(parts)

    @property
    def miss(self) -> int:
        """Cycles of a cache miss: all reads of a line, sequentially."""
        return self.line_bytes // self.read_bytes * (1 + self.wait_states) - 1

    @property
    def waits(self) -> bool:
        """Whether reads ever wait."""
        return self.miss > 0

    @property
    def keeps_data(self) -> bool:
        """Whether constants are cached, so that adjacent data is available at once."""
        return self.data_lines > 0 or self.shared_lines

    def stream(self, nbytes: int) -> int:
        """Wait cycles for reading `nbytes` of constants once, sequentially."""
        if self.keeps_data:
            return -(-nbytes // self.line_bytes) * self.miss
        return -(-nbytes // WORD) * self.wait_states


@dataclass(frozen=True)
class Memory:
    """One memory of a part; `origin`: its address, if it has a single one."""

    name: str
    kind: str
    size: int
    origin: int | None = None
    wait: int = 0
    """Rank among memories of its kind: those with smaller values are filled first. It is not a number of cycles."""
    section: str = ""
    """The linker section for what Mote places there."""
    reads: Reads = field(default_factory=Reads)
    """Cost of reading. Flash: code and constants. RAM: code, and data if it is cached."""
    holds: tuple[str, ...] = HOLDS
    """`code`: can be executed from; `data`: can hold constants (flash) or tensor arenas (RAM)."""

    @property
    def data_reads(self) -> Reads:
        """The cost of reading and writing data; uncached RAM has no wait states."""
        return self.reads if self.kind == "flash" or self.reads.keeps_data else Reads()

    @property
    def symbol(self) -> str:
        """The name as the end of a C identifier."""
        return re.sub(r"\W", "_", self.name, flags=re.ASCII)


def read_memory(path: Path, keys: dict[str, Any]) -> Memory:
    """Read a `[[memory]]` table."""
    odd = sorted(set(keys) - {*_NEEDED, *_OTHERS, *READS})
    missing = sorted(set(_NEEDED) - set(keys))
    if odd or missing:
        what = f"unknown key '{printable(odd[0])}'" if odd else f"'{missing[0]}' is missing"
        guess = did_you_mean(odd[0], (*_OTHERS, *READS)) if odd else ""
        remedy = f"{guess}a memory has a name, a kind, a size and perhaps: {', '.join((*_OTHERS, *READS))}"
        raise bad(path, f"in [[memory]]: {what}", remedy)
    name, kind, origin, wait = keys["name"], keys["kind"], keys.get("origin"), keys.get("wait", 0)
    if not isinstance(name, str) or not name or not name.isprintable():
        raise bad(path, f"in [[memory]]: 'name' must be a string that can be printed, not {name!r}")
    if name.lower() == KEPT:
        raise bad(path, f"a memory cannot be called '{name}': so is what a model keeps", "rename it")
    if kind not in KINDS:
        raise bad(path, f"memory '{name}': 'kind' must be flash or ram, not {kind!r}")
    if origin is not None and not is_whole(origin, 0, _MOST_ADDRESS):
        raise bad(path, f"memory '{name}': 'origin' must be an address, not {cut(origin)}")
    if not is_whole(wait, 0, _MOST_WAIT):
        raise bad(path, f"memory '{name}': 'wait' must be a number of cycles up to {_MOST_WAIT:,}, not {cut(wait)}")
    try:
        size = parse_size(keys["size"])
    except MoteError as error:
        raise bad(path, f"memory '{name}': {error.reason}", error.remedy) from None
    if not is_whole(size, 1, _MOST_BYTES):
        raise bad(path, f"memory '{name}': 'size' must be from 1 to {_MOST_BYTES:,} bytes, not {cut(size)}")
    holds = keys.get("holds", list(HOLDS))
    if not isinstance(holds, list) or not holds or not all(h in HOLDS for h in holds):
        raise bad(path, f"memory '{name}': 'holds' must be a list of code, data or both, not {cut(holds)}")
    reads = read_reads(path, f"memory '{name}'", {k: v for k, v in keys.items() if k in READS})
    memory = Memory(name, kind, size, origin, wait, reads=reads, holds=tuple(holds))
    section = keys.get("section", f".{'bss' if kind == 'ram' else 'rodata'}.mote_{memory.symbol}")
    if not isinstance(section, str) or not re.fullmatch(r"[\w.$]+", section, re.ASCII):
        raise bad(path, f"memory '{name}': 'section' must be the name of a linker section, not {section!r}")
    return replace(memory, section=section)


def read_reads(path: Path, where: str, keys: Any) -> Reads:
    """Read the keys that state the cost of reading, from a memory's table or the table `[reads]`."""
    if not isinstance(keys, dict):
        raise bad(path, "'reads' must be a table: [reads]")
    for key, value in keys.items():
        if key not in READS:
            guess = did_you_mean(key, READS)
            raise bad(path, f"{where}: unknown key '{printable(key)}'", f"{guess}there are: {', '.join(READS)}")
        if key in _READS_BOOL and not isinstance(value, bool):
            raise bad(path, f"{where}: '{key}' must be true or false, not {cut(value)}")
        if key == "source" and not (isinstance(value, str) and value.isprintable()):
            raise bad(path, f"{where}: 'source' must be a string that can be printed, not {cut(value)}")
        least, most = _READS_WHOLE.get(key, (0, 0))
        if key in _READS_WHOLE and not is_whole(value, least, most):
            raise bad(path, f"{where}: '{key}' must be a whole number from {least:,} to {most:,}, not {cut(value)}")
    width = keys.get("read_bytes", Reads.read_bytes)
    reads = Reads(**{"line_bytes": width, **keys})
    _check_reads(path, where, reads)
    return reads


def _check_reads(path: Path, where: str, reads: Reads) -> None:
    """Reject inconsistent values, such as line sizes that are no power of two."""
    for key in ("read_bytes", "line_bytes"):
        value = getattr(reads, key)
        if value & (value - 1):
            raise bad(path, f"{where}: '{key}' must be a power of two, not {value}")
    if reads.line_bytes < reads.read_bytes:
        raise bad(path, f"{where}: a line of {reads.line_bytes} bytes is less than one read of {reads.read_bytes}")
    if reads.shared_lines and reads.data_lines:
        raise bad(path, f"{where}: 'data_lines' beside 'shared_lines'", "lines that are shared are 'code_lines'")
    for key in ("code_lines", "data_lines"):
        lines = getattr(reads, key)
        if reads.ways and lines and lines % reads.ways:
            raise bad(path, f"{where}: {lines} '{key}' are no multiple of {reads.ways} 'ways'")
