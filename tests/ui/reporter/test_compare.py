"""Targets side by side, and the difference to another model or an earlier report."""

from __future__ import annotations

from pathlib import Path

import pytest

import mote
from mote.ui.reporter.report import Report, read_report
from tests.helpers.browser import Browser

MODELS = Path(__file__).parents[3] / "models"


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "earlier.html"
    mote.report(MODELS / "digits_float.tflite").write(path)
    return path


def test_a_report_is_read_back(earlier: Path) -> None:
    again = Report(read_report(earlier))
    assert again.html == earlier.read_text(encoding="utf-8")


@pytest.mark.slow
def test_an_earlier_report_is_compared(earlier: Path, browser: Browser) -> None:
    report = mote.report(MODELS / "digits.tflite", targets=["cortex-m0"], against=earlier)
    with browser.open(report.html) as page:
        text = page.evaluate("document.querySelector('#compare').textContent")
        assert "digits_float.tflite by Mote" in text and "cortex-m0" in text
        assert "NaN" not in text and "undefined" not in text
        assert page.evaluate("document.querySelectorAll('#compare td.better').length") > 3
        assert page.evaluate("document.querySelectorAll('#compare button[data-layer]').length") == 8
        assert page.errors == []


@pytest.mark.parametrize("text", ["", "<!DOCTYPE html>", '<script type="application/json" id="data">{}</script>'])
def test_other_pages_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(text)
    with pytest.raises(mote.MoteError, match="no report"):
        mote.report(MODELS / "digits.tflite", against=tmp_path / "page.html")


def test_another_target_is_refused(earlier: Path) -> None:
    with pytest.raises(mote.MoteError, match="not of cortex-m0"):
        mote.report(MODELS / "digits.tflite", target="cortex-m0", against=earlier)
