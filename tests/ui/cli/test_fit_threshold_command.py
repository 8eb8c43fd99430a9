"""`mote fit-threshold` as text and JSON."""

from __future__ import annotations

import json

import pytest

from tests.ui.cli.test_cli import DIGITS, ROOT, mote

TEST = "models/digits_test.npz"


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = mote(capsys, "fit-threshold", DIGITS, "--data", TEST, "--event", "3")
    assert status == 0 and not err
    told, *rows, last = out.splitlines()
    assert told.endswith(f"{TEST}: threshold 0.6") and last == 'compile it with --postprocess "detect(3,0.6)"'
    assert [row.split("  ")[0] for row in rows[1:]] == ["criterion", "scores", "missed samples", "false positives"]
    status, out, _ = mote(
        capsys, "fit-threshold", DIGITS, "--data", TEST, "--event", "3", "--false-positives", "0.5", "--json"
    )
    fit = json.loads(out)
    assert status == 0 and fit["postprocess"] == f"detect(3,{fit['threshold']})"
    assert fit["false_positives"] <= fit["samples"] / 2 and fit["false_negatives"] == 0


def test_one_criterion(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = mote(capsys, "fit-threshold", DIGITS, "--data", TEST, "--metric", "f1", "--percentile", "9")
    assert status == 2 and "not allowed with argument --metric" in err
