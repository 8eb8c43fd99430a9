"""`mote.report`: data and page of a model."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

import mote
from mote.base.errors import BoardError, BudgetError, MoteError
from mote.ui.cli import parser
from mote.ui.reporter import html, subject
from mote.ui.reporter.html import page
from mote.ui.reporter.report import Report
from mote.ui.reporter.sections import SECTIONS

DIGITS = Path(__file__).parents[3] / "models" / "digits.tflite"


@pytest.fixture(scope="module")
def made() -> Report:
    return mote.report(DIGITS, target="host")


def test_a_model_that_fits_no_emulated_board_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has estimates, and says why nothing was measured; a budget of the user's is an error all the same."""
    compiled = mote.compile(DIGITS, target="host")

    def fails(error: MoteError) -> None:
        def run(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(subject, "run", run)

    monkeypatch.setattr(subject, "missing_tools", lambda target: None)
    fails(BoardError("does not fit the emulated board", remedy="use a smaller model"))
    unmeasured = subject.measured(compiled)
    assert unmeasured.ran is None and unmeasured.profile is None
    assert unmeasured.reason == "does not fit the emulated board; use a smaller model"
    fails(BudgetError("needs more RAM"))
    with pytest.raises(BudgetError):
        subject.measured(compiled)


def test_every_section_has_a_script() -> None:
    folder = Path(html.__file__).parent / "page"
    assert {s.key for s in SECTIONS} <= {path.stem for path in folder.glob("*.js")}


def test_sections_style_what_is_theirs() -> None:
    """Selectors of two sections do not begin with the same class."""
    folder = Path(html.__file__).parent / "page"
    texts = {path.stem: re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL) for path in folder.glob("*.css")}
    begun = {key: set(re.findall(r"(?:^|[{},])\s*[a-z]*\.([\w-]+)", text)) for key, text in texts.items()}
    shared = begun.pop("page")
    counts = Counter(name for own in begun.values() for name in own - shared)
    assert "front" in counts and [name for name, count in counts.items() if count > 1] == []


def test_a_page_needs_no_other_file(made: Report) -> None:
    class References(HTMLParser):
        seen: list[str] = []  # noqa: RUF012

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.seen += [value or "" for name, value in attrs if name in ("src", "href") and value and value[0] != "#"]

    References().feed(made.html)
    assert References.seen == []


def test_names_of_the_model_are_no_html(made: Report) -> None:
    hostile = {**made.data, "model": "</script><script>alert(1)</script>"}
    text = page(hostile)
    assert "<script>alert" not in text and text.count("</script>") == made.html.count("</script>")


def test_a_report_is_json_and_shown_inline(made: Report, tmp_path: Path) -> None:
    assert json.loads(json.dumps(made.data)) == made.data
    assert made._repr_html_().startswith("<iframe") and "digits" in repr(made)
    made.write(tmp_path / "report.html")
    made.write(tmp_path / "report.html")
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(mote.MoteError):
        made.write(tmp_path / "mine.txt")


def test_targets_can_be_given_together_or_one_by_one() -> None:
    given = [["--target", "host", "cortex-m4"], ["-t", "host", "--target", "cortex-m4"]]
    told = [parser("report").parse_args(["report", "m.tflite", "-o", "r.html", *options]).target for options in given]
    assert told == [["host", "cortex-m4"]] * 2
