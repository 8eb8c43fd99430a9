"""Checks of parameters of kernels that round to even, with mutants of layers from their tests. See `rooms.py`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tests.compiler.kernels import test_even_elements
from tests.compiler.kernels.even import Layers
from tests.compiler.kernels.rooms import Case, Collection, Rooms
from tests.helpers.support import examples

MUTANTS = examples(150)


@cache
def cases() -> tuple[Case, ...]:
    """A call of each kernel, in every form; those for layers that meet halves."""
    collection = Collection(each=1)
    for wide in (False, True):
        for graph in Layers(1, halves=True, wide=wide).some():
            collection.add(graph)
    for graph in (*test_even_elements.layers(3), *test_even_elements.pairs(3), test_even_elements.quantizing()):
        collection.add(graph)
    return tuple(case for case in collection.cases if any("even" in h or "steps" in h for h in case.kernel.headers))


@pytest.mark.slow
def test_what_is_admitted_breaks_nothing(tmp_path: Path) -> None:
    rooms = Rooms(cases(), tmp_path)
    findings = rooms.run(MUTANTS)
    assert not findings, "\n".join(map(str, findings))
    assert min(rooms.admitted.values()) > MUTANTS / 20, rooms.admitted


def test_every_header_is_tried() -> None:
    headers = {case.kernel.headers for case in cases()}
    layers = {(f"{name}_even_s8",) for name in ("conv2d", "depthwise", "fully_connected", "mean", "pool", "softmax")}
    layers |= {(f"layer_{name}", "even") for name in ("conv2d", "depthwise", "fully_connected", "transpose_conv")}
    assert layers | {("even_batch_matmul",), ("quantize_even",)} <= headers
