"""The origin of a node: its module path, and the user's line of source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

FRAME = re.compile(r'File "([^"]*)", line (\d+), in \S+\n\s*(.*)')
"""A stack frame as Python prints it."""
NOT_OWN = re.compile(r"-packages/torch(ao)?/|^torch/|^<")
"""Files of PyTorch itself, and code without a file."""


def origin(node: Mapping[str, Any]) -> dict[str, str]:
    """The metadata that PyTorch keeps with a node through all transformations."""
    metadata = node.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    return {"module": _module_path(fields), "line": _source_line(fields)}


def with_line(reason: str, origin: Mapping[str, str]) -> str:
    """A reason, with the line of source where one is known."""
    return f"{reason} ({line})" if (line := origin.get("line")) else reason


def _module_path(metadata: Mapping[str, Any]) -> str:
    last = str(metadata.get("nn_module_stack") or "").split(";")[-1].split(",")
    path = last[1] if len(last) > 2 else ""
    return "" if path.startswith("_empty") else path


def _source_line(metadata: Mapping[str, Any]) -> str:
    """The innermost source line outside of PyTorch."""
    frames = FRAME.findall(str(metadata.get("stack_trace") or ""))
    own = [frame for frame in frames if not NOT_OWN.search(frame[0])]
    if not own:
        return ""
    path, line, text = own[-1]
    return f"{path.rsplit('/', 1)[-1]}:{line}: {text.strip()}"
