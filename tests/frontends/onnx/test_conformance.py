"""The tests that come with ONNX: a sample of them gives what the record says, and pages show the record."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx_cases
import onnx_conformance as conformance

RECORD = conformance.load()
EACH = 31
"""Of Debian's tests each so many are run."""


def test_pages_show_the_record() -> None:
    assert conformance.PAGE.read_text(encoding="utf-8") == conformance.page(RECORD), conformance.COMMAND
    assert conformance.MANUAL.read_text(encoding="utf-8") == conformance.manual(RECORD), conformance.COMMAND
    assert conformance.RECORD.read_text(encoding="utf-8") == conformance.text(RECORD), conformance.COMMAND


def test_none_fails() -> None:
    failed = {case: why for entry in RECORD["operators"].values() for case, why in entry["failed"].items()}
    assert not failed
    assert sum(len(entry["passed"]) for entry in RECORD["operators"].values()) > 2200


def test_a_sample_gives_what_the_record_says() -> None:
    if not onnx_cases.DEBIAN.exists():
        pytest.skip("not installed: libonnx-testdata")
    known = {case: name for name, entry in RECORD["operators"].items() for case in entry["passed"]}
    sample = [case for case in onnx_cases.debian(EACH) if case.name in known]
    assert len(sample) > 15
    outcomes = conformance.run(sample)
    wrong = {it.case: (it.result, it.reason) for it in outcomes if it.result != conformance.PASSED}
    assert not wrong
    assert {it.case: it.operator for it in outcomes} == {case.name: known[case.name] for case in sample}
