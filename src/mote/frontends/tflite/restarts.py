"""Variable tensors that a file writes before an operator goes on with them: states that begin anew each inference.

LiteRT's LSTM takes its states as variable tensors only, which keep their values from one inference to the next. A file
whose LSTM is stateless copies the values that it begins with into them first (see `emit/recurrent.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from mote.frontends.tflite.variables import FileOperator
from mote.ir.graph import Tensor

OPERATORS = frozenset({"UNIDIRECTIONAL_SEQUENCE_LSTM"})
"""The operators whose states may be reset."""


def restarted(calls: Sequence[FileOperator], tensors: dict[int, Tensor], variables: Collection[int]) -> dict[int, int]:
    """The variable tensors that one operator writes before the only one that reads them, each with a new tensor for the
    written value."""
    copies = {}
    for variable in variables:
        writers = [i for i, call in enumerate(calls) if variable in call.outputs]
        readers = [i for i, call in enumerate(calls) if variable in call.inputs]
        if len(writers) == len(readers) == 1 and writers < readers and calls[readers[0]].code in OPERATORS:
            copies[variable] = max(tensors) + 1
            tensors[copies[variable]] = replace(tensors[variable], id=copies[variable], inner=True)
    return copies


def renamed(calls: Sequence[FileOperator], names: dict[int, int]) -> list[FileOperator]:
    """The operators with some tensors replaced."""
    if not names:
        return list(calls)

    def named(tensors: Sequence[int]) -> tuple[int, ...]:
        return tuple(names.get(i, i) for i in tensors)

    return [replace(call, inputs=named(call.inputs), outputs=named(call.outputs)) for call in calls]
