"""The same input gives the same bytes: whatever the size of a pointer, and in whatever order sets are gone through."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import mote
from tests.helpers import narrow_integers

SOURCES = Path(mote.__file__).parent
MODELS = Path(__file__).parents[2] / "models"
CASES = [
    f"{MODELS / 'digits.tflite'},cortex-m4,balanced",
    f"{MODELS / 'digits.tflite'},cortex-m0,size",
    f"{MODELS / 'digits.tflite'},cortex-m55,speed",
    f"{MODELS / 'digits.tflite'},rv32imc,balanced",
]
"""Kernels of four instruction sets, and coded weights."""


def _digests(width: str, cases: Sequence[str] = CASES, python: str = sys.executable, **environment: str) -> list[str]:
    command = [python, str(narrow_integers.__file__), width, *cases]
    found = {**os.environ, "PYTHONPATH": str(SOURCES.parent), **environment}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=found).stdout.splitlines()


@pytest.mark.slow
def test_neither_narrow_integers_nor_the_order_of_sets_change_a_byte() -> None:
    """Once constants for requantization overflowed where NumPy counts in 32 bits: kernels had none, and models other
    plans."""
    assert _digests("wide", PYTHONHASHSEED="1") == _digests("narrow", PYTHONHASHSEED="2")


PYTHON32 = os.environ.get("MOTE_PYTHON32", "")


@pytest.mark.skipif(not PYTHON32, reason="MOTE_PYTHON32 names no Python of 32 bits with Mote's dependencies")
def test_a_python_of_32_bits_writes_the_same() -> None:
    path = f"{SOURCES.parent}{os.pathsep}{os.environ.get('MOTE_PYTHON32_PATH', '')}"
    size = [PYTHON32, "-c", "import sys; print(sys.maxsize)"]
    assert int(subprocess.run(size, check=True, capture_output=True).stdout) < 1 << 32
    cases = [
        f"{MODELS / name}.tflite,{target},size"
        for name in ("digits", "digits_float", "keywords")
        for target in ("cortex-m4", "rv32imc")
    ]
    assert _digests("wide", cases, PYTHON32, PYTHONPATH=path) == _digests("wide", cases)


def _calls() -> list[tuple[str, str, ast.Call]]:
    """Calls of functions of NumPy in the files that count something, with where they are."""
    return [
        (f"{path.relative_to(SOURCES)}:{node.lineno}", ast.unparse(node.func), node)
        for path in sorted(SOURCES.rglob("*.py"))
        if re.search(rb"np\.(arange|bincount|repeat)", path.read_bytes())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("np.")
    ]


def test_integers_have_a_type_wherever_they_are_made() -> None:
    """NumPy's own is that of the platform, and `bincount` and `repeat` take no other (`mote.base.integers`)."""
    untyped = []
    for where, name, call in _calls():
        typed = any(option.arg == "dtype" for option in call.keywords)
        along = len(call.args) > 2 or any(option.arg == "axis" for option in call.keywords)
        if (name == "np.arange" and not typed) or name == "np.bincount" or (name == "np.repeat" and not along):
            untyped.append(where)
    assert {where.partition(":")[0] for where in untyped} == {"base/integers.py"}, untyped
