"""Deviations from MISRA C:2012 are those that docs/trust/misra.md lists, with a reason each."""

from __future__ import annotations

import re
import shutil

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import misra
import prove
from mote.compiler.line import compile


@pytest.mark.skipif(shutil.which("cppcheck") is None, reason="cppcheck is not installed")
def test_no_other_rule_is_violated() -> None:
    found = misra.deviations([compile(prove.BUNDLED / "digits.tflite").project])
    assert found and found.keys() <= misra.REASONS.keys(), "follow the rule, or say in misra.REASONS why not"


def test_the_page_lists_every_rule_and_reason() -> None:
    rows = re.findall(r"^\| ([\d.]+) \|.*\| (.*) \|$", misra.PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert dict(rows) == misra.REASONS
