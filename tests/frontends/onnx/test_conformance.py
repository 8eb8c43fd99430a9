"""The tests that come with ONNX: a sample of them gives what the record says, and pages show the record."""

from __future__ import annotations

from collections.abc import Collection

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


def known(each: int = 1) -> dict[str, onnx_cases.Case]:
    """Debian's tests that the record says to pass, by name."""
    if not onnx_cases.DEBIAN.exists():
        pytest.skip("not installed: libonnx-testdata")
    passed = {case for entry in RECORD["operators"].values() for case in entry["passed"]}
    cases = onnx_cases.debian(each)
    return {case.name: case for case in cases if {case.name, f"{case.name}, opset {case.opset}"} & passed}


def check(cases: Collection[onnx_cases.Case]) -> None:
    wrong = {it.case: it.reason for it in conformance.run(list(cases)) if it.result != conformance.PASSED}
    assert not wrong


def test_a_sample_gives_what_the_record_says() -> None:
    sample = known(EACH)
    assert len(sample) > 15
    check(sample.values())


@pytest.mark.frontends
def test_of_each_operator_one_gives_what_the_record_says() -> None:
    chosen = {case.operator: case for case in known().values()}
    assert len(chosen) > 120
    check(chosen.values())
