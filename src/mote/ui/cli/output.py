"""The standard streams: a pipe that is closed, a disk that is full, a terminal that knows few characters."""

from __future__ import annotations

import errno
import json
import os
import sys
from contextlib import suppress
from io import TextIOWrapper

from mote.base.errors import InternalError, MoteError
from mote.base.text import printable
from mote.ui.cli.terminal import folded, width

CLOSED = 141
"""The exit status where nobody reads on: what shells show for a program that SIGPIPE ended."""
_OUTPUT = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}


def prepare() -> None:
    """Characters that an output cannot show are printed as Python writes them, instead of failing."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - there is nobody to tell
    if sys.stdout is None:
        raise MoteError("is closed", where="standard output", remedy="redirect it to a file, or to /dev/null")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def complain(text: str, error: MoteError | InternalError, *, json_too: bool) -> None:
    """Say an error on standard error, and as JSON on standard output where that was asked for."""
    said = {"where": error.where, "reason": error.reason, "remedy": error.remedy}
    if json_too and sys.stdout is not None:
        print(json.dumps({"error": said}), flush=True)
    with suppress(OSError):
        said_lines = printable(text, keep="\n\t").splitlines()
        if sys.stderr.isatty():
            said_lines = [part for line in said_lines for part in folded(line, width())]
        print("\n".join(said_lines), file=sys.stderr, flush=True)


def is_of_output(error: OSError) -> bool:
    """Whether it came from writing to standard output: such an error names no file."""
    return error.filename is None and error.errno in _OUTPUT


def give_up(error: OSError) -> int:
    """Say why the output is not complete, and leave what is left of it unwritten; the exit status."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        return CLOSED
    with suppress(OSError):
        print(f"mote: error: standard output: cannot be written ({error.strerror})", file=sys.stderr, flush=True)
    return 1
