"""The licence of generated files. It covers the code; the weights in it are under the model's own licence."""

from __future__ import annotations

LICENCE = "Apache-2.0"
SPDX = f"SPDX-License-Identifier: {LICENCE}"
"""The line at the top of every generated file."""


def licensed(text: str) -> str:
    """A C file of Mote's own with that line."""
    return f"/* {SPDX} */\n{text}"
