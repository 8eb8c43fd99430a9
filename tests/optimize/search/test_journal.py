"""Journals: nothing that was found is lost, whatever happens to the process."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mote
from mote.base.errors import MoteError
from mote.optimize.search import Journal, digest, run
from mote.optimize.search.journal import HEAD, restored
from tests.optimize.search import evaluations

SEARCH = """
import sys
from mote.optimize.search import digest, run
from tests.optimize.search import evaluations
for item, result in run(evaluations.counted, range(6), sys.argv[1], journal=sys.argv[2], key=digest):
    print(item, result)
"""


def searched(folder: Path, journal: Path) -> subprocess.CompletedProcess[str]:
    paths = [str(Path(mote.__file__).parents[1]), str(Path(__file__).parents[3])]
    return subprocess.run(
        [sys.executable, "-c", SEARCH, str(folder), str(journal)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_search_that_was_killed_goes_on(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    assert searched(tmp_path, journal).returncode == -9
    assert len(Journal(journal)) == 3
    done = searched(tmp_path, journal)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n") == [*(f"{i} {i * i}" for i in range(6)), ""]
    assert (tmp_path / "called").read_text().split() == ["0", "1", "2", "3", "3", "4", "5"]


def test_what_is_in_the_journal_is_not_evaluated_again(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    for _ in range(2):
        results = list(run(evaluations.counted, [0, 2, 4], str(tmp_path), journal=journal, key=digest))
        assert results == [(0, 0), (2, 4), (4, 16)]
    assert list(run(evaluations.counted, [1, 2], str(tmp_path), journal=journal, key=digest)) == [(1, 1), (2, 4)]
    assert (tmp_path / "called").read_text().split() == ["0", "2", "4", "1"]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 100), st.integers(0, 3))
def test_torn_lines_are_passed_over(cut: int, zeros: int) -> None:
    """Of the last line a part is missing; a failure of power may leave zeros there."""
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"mote-journal-{os.getpid()}"
    path.unlink(missing_ok=True)
    try:
        journal = Journal(path)
        for i in range(3):
            journal.add(digest(i), f"item {i}", {"value": i})
        whole = path.read_bytes()
        last = len(whole.splitlines(keepends=True)[-1])
        path.write_bytes(whole[: len(whole) - 2 - cut % (last - 2)] + bytes(zeros))
        again = Journal(path)
        assert again[digest(1)] == {"value": 1} and digest(2) not in again
        again.add(digest(2), "item 2", 2.5)
        assert [Journal(path)[digest(i)] for i in range(3)] == [{"value": 0}, {"value": 1}, 2.5]
    finally:
        path.unlink(missing_ok=True)


def test_results_are_the_same_fresh_and_read(tmp_path: Path) -> None:
    assert Journal(tmp_path / "j").add("key", "name", {"a": (1, 2)}) == {"a": [1, 2]}
    assert Journal(tmp_path / "j")["key"] == {"a": [1, 2]}


class Costs(TypedDict):
    ram: int
    share: float | None


@dataclass(frozen=True)
class Plan:
    name: str
    costs: Costs | None


def test_results_are_of_the_type_that_a_function_returns() -> None:
    right = {"name": "a", "costs": {"ram": 3, "share": 1}}
    found = restored(right, Plan | None)
    assert found == Plan("a", {"ram": 3, "share": 1.0}) and isinstance(found.costs["share"], float)
    assert restored({"name": "a", "costs": None}, Plan) == Plan("a", None)
    assert restored(None, Plan | None) is None
    assert restored({"a": 1}, dict[str, int]) == {"a": 1} and restored([1], Any) == [1]
    for wrong in (None, 1, "a", [], {}, {**right, "more": 1}, {**right, "name": 1}, {**right, "costs": {"ram": 3}}):
        with pytest.raises(TypeError):
            restored(wrong, Plan)
    for value, form in ((True, int), (1.5, int), ("1", float), (1, bool), (None, str), ({"a": "b"}, dict[str, int])):
        with pytest.raises(TypeError):
            restored(value, form)


def test_another_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    with pytest.raises(MoteError, match="not a journal"):
        Journal(path)
    assert path.read_text() == "mine"
    with pytest.raises(MoteError, match="cannot be written"):
        Journal(tmp_path / "no folder" / "journal")


def test_a_journal_that_takes_no_more_says_so(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    (tmp_path / "journal").unlink()
    with pytest.raises(MoteError, match="cannot be written"):
        journal.add("key", "name", 1)
    assert HEAD.endswith(b"\n")


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Options:
    first: int
    second: tuple[float, ...] = ()
    note: str = field(default="", compare=False)


def test_a_digest_depends_on_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [
        b"a", "a", 1, 1.0, True, None, ("a",), (("a",),), {"a": 1}, {1: "a"}, {"a"}, Colour.RED, Options(1), Options(2),
        Options(1, (0.1 + 0.2,)), Options(1, (0.3,)), np.zeros(2, np.int8), np.zeros(2, np.uint8),
        np.zeros((1, 2), np.int8), np.array([1, 0], np.int8), b"", (), ("ab", "c"), ("a", "bc"), np.float32(1),
    ]  # fmt: skip
    found = [digest(part) for part in parts]
    assert len(set(found)) == len(parts)
    assert digest(Options(1, note="other")) == digest(Options(1))
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) and digest("a", "b") != digest("ab")
    assert digest(np.arange(6).reshape(2, 3)) == digest(np.arange(6).reshape(3, 2).reshape(2, 3))
    with pytest.raises(TypeError, match="no digest"):
        digest(object())
    monkeypatch.setattr("mote.optimize.search.journal.__version__", "0.0.0")
    assert digest("a") != found[1]
