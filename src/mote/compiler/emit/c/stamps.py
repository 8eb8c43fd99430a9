"""Checksums of kernel headers: compiling with a header of another version of Mote, or for another core, is an error.

Projects in the same folder overwrite each other's headers. Each header defines the CRC-32 of its text, and the model's
C compares it with that of the header it was generated with.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from mote.compiler.emit.c.c import Comment, Definition, Text

REFUSAL = "mote_*.h are of another version of Mote or for another core: keep each project in a folder of its own"


def stamped(file: str, text: str) -> str:
    """The text of a header with its checksum, which follows the include guard; unchanged without a guard."""
    define = f"#define {_guard(file)}\n"
    return text.replace(define, f"{define}#define {_macro(file)} {_stamp(text)}\n", 1)


def check(headers: Mapping[str, str]) -> list[Definition]:
    """The lines of C that compare the checksums of headers. `headers`: texts without checksums, by file."""
    guarded = {file: text for file, text in headers.items() if f"#define {_guard(file)}\n" in text}
    differs = " || \\\n    ".join(f"{_macro(file)} != {_stamp(text)}" for file, text in guarded.items())
    return [
        Comment("The kernels' headers are those that this file was generated with."),
        Text(f'#if {differs}\n#error "{REFUSAL}"\n#endif\n'),
    ]


def _guard(file: str) -> str:
    return file.upper().replace(".", "_")


def _macro(file: str) -> str:
    return f"{_guard(file)}_CRC"


def _stamp(text: str) -> str:
    return f"0x{zlib.crc32(text.encode()):08x}u"
