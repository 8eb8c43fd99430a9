"""Command streams of Vela, compiled in this process."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import tempfile
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

MODELS = Path(__file__).parents[3] / "models"


@dataclass(frozen=True)
class Compiled:
    """One operator of Ethos-U in a file that Vela wrote."""

    payload: bytes
    weights: bytes
    sizes: tuple[int, ...]
    """Bytes of the base pointers: weights, scratch, fast scratch."""

    writable = (False, True, True)


@cache
def compiled(model: str | bytes, core: str, *options: str) -> tuple[Compiled, ...]:
    """The operators of Ethos-U that Vela makes of a bundled model, or of the bytes of one."""
    return _operators(compiled_file(model, core, *options))


def compiled_apart(model: bytes, core: str) -> tuple[Compiled, ...] | None:
    """The operators of a model that Vela compiles in a process of its own; None where that crashes or refuses it."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(sender, model, core))
    child.start()
    sender.close()
    try:
        parts: tuple[Compiled, ...] | None = receiver.recv()
    except EOFError:
        parts = None
    child.join()
    return parts


def _send(sender: Connection, model: bytes, core: str) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        sender.send(compiled(model, core))
    except RuntimeError:
        sender.send(None)


@cache
def compiled_file(model: str | bytes, core: str, *options: str) -> bytes:
    """The file that Vela makes of a model."""
    pytest.importorskip("ethosu.vela", reason="ethos-u-vela is not installed")
    from ethosu.vela import vela  # takes a second

    content = model if isinstance(model, bytes) else (MODELS / f"{model}.tflite").read_bytes()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path = Path(folder) / "model.tflite"
        path.write_bytes(content)
        vela.main([str(path), "--output-dir", folder, "--accelerator-config", core, *options])
        return (Path(folder) / "model_vela.tflite").read_bytes()


def _operators(content: bytes) -> tuple[Compiled, ...]:
    from ethosu.vela.tflite.Model import Model

    model = Model.GetRootAsModel(content, 0)
    graph = model.Subgraphs(0)
    listed = []
    for index in range(graph.OperatorsLength()):
        operator = graph.Operators(index)
        if model.OperatorCodes(operator.OpcodeIndex()).CustomCode() != b"ethos-u":
            continue
        tensors = [graph.Tensors(int(number)) for number in operator.InputsAsNumpy()[:4]]
        payload, weights = (_content(model.Buffers(t.Buffer())) for t in tensors[:2])
        listed.append(Compiled(payload, weights, tuple(int(np.prod(t.ShapeAsNumpy())) for t in tensors[1:])))
    return tuple(listed)


def _content(buffer: Any) -> bytes:
    return np.asarray(buffer.DataAsNumpy()).tobytes() if buffer.DataLength() else b""
