"""The table `[npu]` of a target file: the part's Ethos-U, and the settings for Vela."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mote.base.errors import MoteError
from mote.base.text import did_you_mean, printable
from mote.hardware.targets.memory import Memory
from mote.hardware.targets.values import bad, check_keys, cut, is_whole, parse_size

NPU_CORES = (
    *(f"ethos-u55-{macs}" for macs in (32, 64, 128, 256)),
    *(f"ethos-u65-{macs}" for macs in (256, 512)),
    *(f"ethos-u85-{macs}" for macs in (128, 256, 512, 1024, 2048)),
)
"""NPUs by their names in Vela: family and MACs per cycle."""
_NEEDED = ("core", "system_config", "memory_mode")
_WHOLE = {"base": (0, (1 << 32) - 1), "irq": (0, 495), "clock_hz": (1, 10**11)}
_KEYS = (*_NEEDED, "config", "memories", "fast", *_WHOLE, "source")
_SECTION = re.compile(r"\w{1,64}", re.ASCII)


@dataclass(frozen=True)
class Npu:
    """The Ethos-U NPU of a part."""

    core: str
    """One of NPU_CORES."""
    system_config: str
    """Section `System_Config.NAME` of Vela's configuration: clocks, bandwidths and latencies of memories."""
    memory_mode: str
    """Section `Memory_Mode.NAME` of Vela's configuration: which AXI ports access constants and activations."""
    config: str = ""
    """A Vela configuration file with these sections; by default the one that comes with Vela."""
    memories: tuple[str, ...] = ()
    """RAM of the part that the NPU can access; empty: all."""
    fast: int = 0
    """Bytes of fast memory that the firmware passes to the driver, for memory modes with a dedicated SRAM."""
    base: int | None = None
    """Address of its registers."""
    irq: int | None = None
    clock_hz: int | None = None
    """Its clock; None: the core's."""
    source: str = ""
    """Source of these facts, and which of them are uncertain."""

    @property
    def family(self) -> str:
        """The name without the number of MACs, such as `ethos-u55`."""
        return self.core.rpartition("-")[0]

    @property
    def macs(self) -> int:
        return int(self.core.rpartition("-")[2])


def read_npu(path: Path, keys: Any, memories: Sequence[Memory]) -> Npu | None:
    """Read the table `[npu]` of a target file; None: it has none."""
    if keys is None:
        return None
    check_keys(path, "npu", keys, _KEYS)
    for key in _NEEDED:
        if key not in keys:
            raise bad(path, f"in [npu]: '{key}' is missing")
    core = keys["core"]
    if core not in NPU_CORES:
        guess = did_you_mean(str(core), NPU_CORES)
        raise bad(path, f"in [npu]: unknown core {cut(core)}", f"{guess}there are: {', '.join(NPU_CORES)}")
    for key in ("system_config", "memory_mode"):
        if not isinstance(keys[key], str) or not _SECTION.fullmatch(keys[key]):
            raise bad(path, f"in [npu]: '{key}' must be the name of a section of Vela's, not {cut(keys[key])}")
    for key in ("config", "source"):
        if not isinstance(keys.get(key, ""), str) or not keys.get(key, "").isprintable():
            raise bad(path, f"in [npu]: '{key}' must be a string that can be printed, not {cut(keys[key])}")
    for key, (least, most) in _WHOLE.items():
        if not is_whole(keys.get(key, least), least, most):
            raise bad(path, f"in [npu]: '{key}' must be a whole number from {least} to {most:,}, not {cut(keys[key])}")
    try:
        fast = parse_size(keys.get("fast", 0))
    except MoteError as error:
        raise bad(path, f"in [npu]: 'fast': {error.reason}", error.remedy) from None
    return Npu(**{**keys, "memories": _reached(path, keys.get("memories", []), memories), "fast": fast})


def _reached(path: Path, names: Any, memories: Sequence[Memory]) -> tuple[str, ...]:
    """Reject names that are no RAM of the part."""
    rams = [m.name for m in memories if m.kind == "ram" and "data" in m.holds]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise bad(path, f"in [npu]: 'memories' must be a list of names, not {cut(names)}")
    for name in names:
        if name not in rams:
            guess = did_you_mean(name, rams)
            raise bad(
                path,
                f"in [npu]: 'memories' names '{printable(name)}', which is no RAM for data",
                f"{guess}there are: {', '.join(rams) or 'none'}",
            )
    return tuple(names)
