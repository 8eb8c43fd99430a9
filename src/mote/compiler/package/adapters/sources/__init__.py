"""Sources of samples that implement `mote_source_t`: drivers of operating systems and boards, and recordings that
replace them in an emulator.

`common/` has the interface and the double buffer; every other folder adapts one driver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mote.base.errors import MoteError
from mote.base.files import read_file
from mote.base.text import did_you_mean, printable
from mote.compiler.emit.c.programs.recorded import RECORDING
from mote.compiler.emit.licence import licensed
from mote.frontends.data.readers.sounds import sound
from mote.ir.graph.tensor import Array

_HERE = Path(__file__).parent
_COMMON, _MEMORY = "common", "memory"
SOURCE_NAMES = (
    *("dma", "zephyr-dmic", "zephyr-sensor", "zephyr-video"),
    *("cmsis-sai", "esp-idf-i2s", "arduino-pdm", _MEMORY),
)
"""The available adapters to drivers."""
CODE = frozenset(
    {path.name for name in (_COMMON, *SOURCE_NAMES) for path in (_HERE / name).glob("*.c*")} | {f"{RECORDING}.c"}
)
"""Names of the C and C++ files of all sources."""
BLOCKS_PER_SECOND = 50
_LIMIT = 64 << 20
_IN_A_LINE = 16


@dataclass(frozen=True)
class Recording:
    """Samples of a WAV file, or bytes of a camera's lines, in blocks as a driver would deliver them."""

    values: Array
    """int16 samples with interleaved channels, or uint8 bytes."""
    block: int
    rate: int = 0
    channels: int = 1

    @property
    def frame(self) -> int:
        """Number of values per sample time (the channels of sound), or per camera line."""
        return self.channels if self.rate else self.block


def source_files(names: Sequence[str]) -> dict[str, str]:
    """The C files of sources. `names`: drivers, or recordings as `FILE.wav` or `FILE:BYTES_OF_A_LINE`."""
    if not names:
        return {}
    recordings = [name for name in names if name not in SOURCE_NAMES]
    if len(recordings) > 1:
        raise MoteError("there is one recording in a firmware", where="option source", remedy="name one file only")
    folders = [_COMMON, *(name for name in names if name in SOURCE_NAMES), *([_MEMORY] if recordings else [])]
    files = {
        path.name: licensed(path.read_text(encoding="utf-8"))
        for folder in dict.fromkeys(folders)
        for path in sorted((_HERE / folder).iterdir())
        if path.suffix in (".c", ".cpp", ".h")
    }
    return files if not recordings else {**files, **recording_files(read_recording(recordings[0]), recordings[0])}


def recording_of(names: Sequence[str]) -> Recording | None:
    """The recording among sources, if there is one."""
    return next((read_recording(name) for name in names if name not in SOURCE_NAMES), None)


def playable_files(names: Sequence[str]) -> dict[str, str]:
    """The files of sources that a program for any core can link: recordings, which need no driver."""
    return source_files([name for name in names if name not in SOURCE_NAMES or name == _MEMORY])


def read_recording(name: str) -> Recording:
    """Reads a recording: a WAV file, or raw lines, with the bytes of a line after a colon."""
    path, _, line = name.rpartition(":")
    if path and line.isascii() and line.isdigit():
        values = np.frombuffer(read_file(path, _LIMIT), np.uint8)
        if int(line) == 0 or len(values) == 0 or len(values) % int(line):
            raise MoteError(
                f"{len(values):,} bytes are no whole number of lines of {line}",
                where=f"recording {path}",
                remedy="name the bytes of a line after the file, FILE:BYTES",
            )
        return Recording(values, int(line))
    if Path(name).suffix.lower() != ".wav":
        raise MoteError(
            f"there is no source '{printable(name)}'",
            where="option source",
            remedy=f"{did_you_mean(name, SOURCE_NAMES)}use one of: {', '.join(SOURCE_NAMES)}; a WAV file; or a file of"
            " a camera's lines and the bytes of a line, FILE:BYTES",
        )
    read = sound(read_file(name, _LIMIT), name)
    values = np.clip(np.rint(read.values.astype(np.float64) * 2**15), -(2**15), 2**15 - 1).astype(np.int16)
    channels = 1 if values.ndim == 1 else values.shape[1]
    return Recording(values.reshape(-1), max(1, read.rate // BLOCKS_PER_SECOND) * channels, read.rate, channels)


def recording_files(recording: Recording, origin: str = "") -> dict[str, str]:
    """A recording as C files: `mote_recording`, which `mote_memory_source` plays."""
    values, guard = recording.values, RECORDING.upper()
    kind = "int16_t" if values.dtype == np.int16 else "uint8_t"
    channels = "one channel" if recording.channels == 1 else f"{recording.channels} channels"
    told = f", {channels}, {recording.rate} Hz" if recording.rate else ""
    rows = (values[at : at + _IN_A_LINE] for at in range(0, len(values), _IN_A_LINE))
    table = ",\n".join("    " + ", ".join(map(str, row.tolist())) for row in rows)
    about = f"{len(values)} values in blocks of {recording.block}{told}"
    source = f"{Path(origin).name}: " if origin else ""
    header = f"""\
/* {RECORDING}.h: {_in_comment(source)}{about}. */
#ifndef {guard}_H
#define {guard}_H

#include "mote_memory_source.h"

#define {guard}_RATE {recording.rate} /* Hz; 0: no sound */
#define {guard}_CHANNELS {recording.channels}
#define {guard}_COUNT {len(values)}L

#ifdef __cplusplus
extern "C" {{
#endif

extern const mote_recording_t {RECORDING};

#ifdef __cplusplus
}}
#endif

#endif
"""
    text = f"""\
/* {RECORDING}.c: see {RECORDING}.h. */
#include "{RECORDING}.h"

static const {kind} values[{guard}_COUNT] = {{
{table}
}};

const mote_recording_t {RECORDING} = {{values, {len(values)}u, {recording.block}u, {values.itemsize}u}};
"""
    return {f"{RECORDING}.h": licensed(header), f"{RECORDING}.c": licensed(text)}


def _in_comment(text: str) -> str:
    return printable(text).replace("*/", "* /").replace("??", "? ?")
