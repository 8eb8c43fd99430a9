"""The licence of generated files. It covers the code; weights are under the model's own licence."""

from __future__ import annotations

LICENCE = "Apache-2.0"
SPDX = f"SPDX-License-Identifier: {LICENCE}"
"""The SPDX line at the top of every generated file."""


def licensed(text: str) -> str:
    """The text of a C file with the SPDX line."""
    return f"/* {SPDX} */\n{text}"
