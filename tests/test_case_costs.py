"""Which cases of tests `make test` runs."""

from __future__ import annotations

from tests.case_costs import BUDGET, LONG, ROOT, known, merged, too_dear


def test_the_first_case_and_what_the_budget_allows() -> None:
    costs = {"a": 9.0, "b": BUDGET, "c": BUDGET / 2, "d": BUDGET / 4}
    assert too_dear(costs, ["a", "b", "c", "d", "new"]) == {"b", "c", "d"}
    assert too_dear(costs, ["c", "b", "d", "new"]) == {"b"}


def test_what_is_recorded() -> None:
    before = {"x.py::gone": {"a": 1.0, "b": 5.0}, "x.py::quick": {"a": 1.0, "b": 5.0}}
    lines = [
        "0.010 x.py::quick[a]",
        "0.020 x.py::quick[b]",
        "3.000 x.py::alone",
        "2.000 x.py::two[a[0]]",
        "1.000 x.py::two[b]",
    ]
    assert merged(lines, before) == {"x.py::gone": {"a": 1.0, "b": 5.0}, "x.py::two": {"a[0]": 2.0, "b": 1.0}}


def test_only_tests_that_exist_are_recorded() -> None:
    for test in (*known(), *LONG.read_text(encoding="utf-8").split()):
        file, *_, name = test.split("::")
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), f"{test}: run `make test-costs`"
