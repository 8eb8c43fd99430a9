"""The benchmark of accuracy: its smallest task, and what the page shows."""

from __future__ import annotations

import pytest

pytest.importorskip("ai_edge_litert")
pytest.importorskip("flatbuffers")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("sklearn")
pytest.importorskip("torch")

pytest.importorskip("ai_edge_quantizer", reason="the quantizer that Mote is compared with is not installed")

import accuracy
import accuracy_tasks

NOISE = 2
"""Answers that may be wrong by chance, of 360."""


@pytest.fixture(scope="module")
def digits() -> dict[str, accuracy.Row]:
    return {row.quantizer: row for row in accuracy.rows(accuracy_tasks.digits(), accuracy.quantizers)}


def test_as_accurate_as_the_float_network_and_as_others(digits: dict[str, accuracy.Row]) -> None:
    right = {name: row.correct or 0 for name, row in digits.items()}
    others = [right[name] for name in right if not name.startswith("Mote")]
    assert right["Mote int8"] >= max(others) - NOISE
    assert right["Mote int16"] >= max(others) - NOISE
    assert right["Mote int4"] >= right[accuracy.FLOAT] - 2 * NOISE


def test_loses_less_of_the_signal_than_others(digits: dict[str, accuracy.Row]) -> None:
    lost = {name: row.decibels or 0.0 for name, row in digits.items()}
    assert lost["Mote int8"] > max(lost["ai-edge-quantizer int8"], lost["ONNX Runtime int8"])
    assert lost["Mote int16"] > lost["ai-edge-quantizer int16"]


def test_the_page_has_every_task() -> None:
    page = accuracy.PAGE.read_text(encoding="utf-8")
    for name in ("digits", "keywords", "PyTorch", "ONNX", "Keras", "scikit-learn", "IC", "VWW"):
        for quantizer in ("Mote int8", "ai-edge-quantizer int8", "ONNX Runtime int8"):
            assert f"| {name} | {quantizer} |" in page


def test_tables_are_written_between_their_marks() -> None:
    page = "a\n<!-- quantizers -->\nold\n<!-- end -->\nb\n<!-- methods -->\nother\n<!-- end -->\n"
    assert accuracy.with_table(page, "quantizers", "new") == page.replace("old", "new")
