"""The record of operators: what `mote ops` and docs/models/operators.md say is what the tests compile."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from random import Random

import pytest

import operators as record
from mote import frontends
from mote.base.errors import MoteError
from mote.frontends.tflite import control, variables
from mote.frontends.tflite.ops import CUSTOM_PARSERS, PARSERS
from mote.frontends.tflite.reader import custom_code
from mote.hardware import targets
from mote.ui.api.operators import operators
from mote.ui.cli import main
from tests.fuzz.bases import base
from tests.helpers.operators_seen import forms

KNOWN = {operator.name: {form.types for form in operator.forms} for operator in operators()}


def test_every_operator_is_recorded() -> None:
    parsed = {*PARSERS, *map(custom_code, CUSTOM_PARSERS)}
    assert parsed - KNOWN.keys() == set(), "benchmarks/operators.py --record"
    assert KNOWN.keys() - parsed <= {*control.OPERATORS, *variables.OPERANDS, "DENSIFY"}


def test_what_the_fuzzer_begins_with_is_recorded() -> None:
    seen = set()
    for _, model in map(base, map(Random, range(60))):
        with suppress(MoteError):  # some have sizes that do not fit
            seen |= {(code, types) for code, types, _, _ in forms(frontends.read(frontends.source_of(model)))}
    assert len(seen) > 80
    assert not {(code, types) for code, types in seen if types not in KNOWN.get(code, ())}, "operators.py --record"


def test_the_page_has_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("load", "names"):
        monkeypatch.setattr(targets, name, cache(getattr(targets, name)))
    assert record.PAGE.read_text(encoding="utf-8") == record.page(), "benchmarks/operators.py --record"


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "ADD", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["name"] == "ADD" and {"int8", "float32"} <= {form["types"] for form in found["forms"]}
    assert main(["ops", "CONV_2D"]) == 0
    assert "cortex-m4" in capsys.readouterr().out
    assert main(["ops", "CONV_2"]) == 1
    assert "did you mean" in capsys.readouterr().err.lower()
