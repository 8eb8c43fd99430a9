"""Which tests run when: parts are disjoint and complete, a clock ends a run, and a run that was stopped goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import journal, suites
from tests.suites import ROOT, Step

PLANTED = """
import time
import pytest

@pytest.mark.parametrize("n", range(12))
def test_some(n):
    pass

def test_failing():
    with open("tried", "a") as tried:
        tried.write("x")
    assert False

@pytest.mark.skip
def test_of_something_else():
    pass
"""


@pytest.fixture
def planted(tmp_path: Path) -> Callable[..., tuple[int, dict[str, str]]]:
    """Runs planted tests with options of the journal: what pytest returns, and the outcomes."""

    def start(*options: str, text: str = PLANTED, record: str = "record.tsv") -> tuple[int, dict[str, str]]:
        (tmp_path / "test_planted.py").write_text(text, encoding="utf-8")
        (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "xdist",
            "-p",
            "tests.journal",
            "--journal",
            record,
            *options,
        ]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        environment.pop("PYTEST_XDIST_WORKER", None)
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1, suites.NO_TESTS), done.stdout + done.stderr
        return done.returncode, journal.read(tmp_path / record)

    return start


def test_parts_are_disjoint_and_complete(planted: Callable[..., tuple[int, dict[str, str]]]) -> None:
    parts = [planted("--part", f"{k}/3", record=f"{k}.tsv")[1] for k in range(3)]
    assert all(parts)
    together = [case for part in parts for case in part]
    assert sorted(together) == sorted(planted()[1])
    assert len(together) == 14


@pytest.mark.parametrize("workers", ["0", "2"])
def test_what_passed_is_left_out_and_what_failed_is_repeated(
    planted: Callable[..., tuple[int, dict[str, str]]], tmp_path: Path, workers: str
) -> None:
    code, before = planted("-n", workers)
    assert code == 1
    assert {case: outcome for case, outcome in before.items() if outcome != "passed"} == {
        "test_planted.py::test_failing": "failed",
        "test_planted.py::test_of_something_else": "skipped",
    }
    code, again = planted("-n", workers, "--passed", "record.tsv", record="again.tsv")
    assert (code, again) == (1, {"test_planted.py::test_failing": "failed"})
    assert (tmp_path / "tried").read_text() == "xx"
    mended = PLANTED.replace("assert False", "pass")
    assert planted("--passed", "record.tsv", text=mended)[0] == 0
    assert planted("--passed", "record.tsv", text=mended)[0] == suites.NO_TESTS


def test_no_case_begins_when_the_time_is_over(planted: Callable[..., tuple[int, dict[str, str]]]) -> None:
    """The first case takes until the year 5138."""
    text = """
from tests import journal

def test_first():
    journal.time = lambda: 1e11

def test_later():
    assert False, "no time was left for this"
"""
    code, outcomes = planted("--until", "0.9e11", text=text)
    assert (code, outcomes) == (0, {"test_planted.py::test_first": "passed", "test_planted.py::test_later": "left"})
    code, outcomes = planted("--passed", "record.tsv", text=text)
    assert (code, outcomes["test_planted.py::test_later"]) == (1, "failed"), "what was left has not passed"


def test_cases_after_the_first_are_slow(planted: Callable[..., tuple[int, dict[str, str]]], tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.suites import mark_slow_cases as pytest_collection_modifyitems")
    text = """
import pytest

@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("n", [pytest.param(0, marks=pytest.mark.slow), 1, 2, 3, 4])
def test_many(n):
    pass

@pytest.mark.parametrize("n", [0, 1])
def test_few(n):
    pass
"""
    quick = planted("-m", "not slow", text=text)[1]
    assert sorted(quick) == [
        f"test_planted.py::{case}" for case in ("test_few[0]", "test_few[1]", "test_many[1]", "test_many[2]")
    ]
    assert len(planted("-m", "slow", text=text, record="slow.tsv")[1]) == 3


def test_a_line_that_was_cut_off_is_none(tmp_path: Path) -> None:
    record = tmp_path / "record.tsv"
    journal.add_line(record, "passed", 0.1, "a.py::test_a")
    journal.add_line(record, "failed", 0.1, "a.py::test_b[\t]")
    with record.open("a") as lines:
        lines.write("passed\t0.2\ta.py::test_")
    assert journal.read(record) == {"a.py::test_a": "passed", "a.py::test_b[\t]": "failed"}
    assert journal.ended(record) == {"a.py::test_a"}


def step(name: str, text: str = "") -> Step:
    return Step(name, (sys.executable, "-c", text))


def test_no_step_begins_when_the_time_is_over(capfd: pytest.CaptureFixture[str]) -> None:
    clock = iter([0.0, 1.0, 99.0, 101.0, 300.0])
    steps = [step("first"), step("second"), step("third"), step("fourth")]
    assert suites.go(steps[:1] + steps[2:], 100.0, lambda: next(clock)) == 0
    out = capfd.readouterr().out
    assert "== first" in out
    assert "left, since the time is over: fourth" in out


def test_a_failure_is_named_and_the_others_go_on(capfd: pytest.CaptureFixture[str]) -> None:
    steps = [
        step("wrong", "raise SystemExit(1)"),
        step("nothing", f"raise SystemExit({suites.NO_TESTS})"),
        step("last"),
    ]
    assert suites.go(steps, float("inf")) == 1
    out = capfd.readouterr().out
    assert "== last" in out
    assert out.endswith("FAILED: wrong\n")


def test_a_step_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    """A pipe ends when no process can write to it any more."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert suites.run(Step("hanging", ("sh", "-c", f"sleep 900 > '{pipe}' & wait")), 1.0) == 1
    os.set_blocking(reading, True)
    assert os.read(reading, 1) == b""
    os.close(reading)


def test_wings_hold_every_file_of_tests_once() -> None:
    files = [file for wing in suites.wings([ROOT / "tests"]) for file in wing]
    assert files == sorted((ROOT / "tests").rglob("test_*.py"))
    plan = ROOT / "tests" / "compiler" / "plan"
    assert suites.wings([plan, plan / "test_plan.py"]) == [[*suites.test_files(plan), plan / "test_plan.py"]]


def test_consecutive_turns_hold_every_case() -> None:
    cases = [f"tests/a.py::test_b[{n}]" for n in range(100)]
    steps = [suites.turn_steps(2009 + k, 1.0) for k in range(suites.TURNS)]
    parts = {
        int(s.command[s.command.index("--part") + 1].split("/")[0])
        for turn in steps
        for s in turn
        if "--part" in s.command
    }
    assert parts == set(range(suites.TURNS))
    assert {journal.part_of(case, suites.TURNS) for case in cases} == parts


def test_another_wing_is_first_in_each_turn() -> None:
    wings = [s.name for s in suites.wing_steps("turn", [ROOT / "tests"])]
    turns = [[s.name for s in suites.turn_steps(number, 1.0) if s.name in wings] for number in range(len(wings))]
    assert all(sorted(turn) == sorted(wings) for turn in turns)
    assert {turn[0] for turn in turns} == set(wings)


@pytest.mark.parametrize(
    ("changed", "room"),
    [
        ("src/mote/ui/cli/search.py", "tests/ui/cli"),
        ("src/mote/compiler/passes/training/integer.py", "tests/compiler/passes/training"),
        ("src/mote/compiler/kernels/portable/mote_dot_s8.h", "tests/compiler/kernels"),
        ("tests/ui/api/test_results.py", "tests/ui/api/test_results.py"),
        ("tests/ui/api/test_that_is_gone.py", "tests/ui/api"),
        ("tests/ir/ops/alone.py", "tests/ir/ops"),
        ("benchmarks/lock.json", "tests/benchmarks"),
        ("examples/camera/camera.c", "tests/examples"),
        ("src/mote/version.py", None),
        ("src/mote/compiler/line.py", None),
        ("tests/helpers/support.py", None),
        ("docs/start/glossary.md", None),
        ("Makefile", None),
        ("", None),
    ],
)
def test_a_change_names_a_room(changed: str, room: str | None) -> None:
    assert suites.room_of(changed) == (ROOT / room if room else None)


def test_rooms_with_the_most_changes_come_first() -> None:
    files = [
        "src/mote/ui/cli/a.py",
        "src/mote/ir/ops/a.py",
        "src/mote/ir/ops/b.py",
        "src/mote/ir/ops/matrix/a.py",
        "README.md",
    ]
    assert suites.changed_rooms(files) == [ROOT / "tests" / "ir" / "ops", ROOT / "tests" / "ui" / "cli"]


def test_the_quick_suite_has_rooms_of_the_change(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels, npu = ROOT / "tests/compiler/kernels", ROOT / "tests/hardware/npu"
    usual, left = suites.quick(["ui/api"], [])
    assert usual[0] == ROOT / "tests/ui/api"
    assert ROOT / "tests" / "test_suites.py" in usual
    assert not left
    changed = [
        "src/mote/compiler/kernels/a.py",
        "src/mote/compiler/kernels/b.py",
        "src/mote/hardware/npu/a.py",
        "src/mote/ui/api/a.py",
    ]
    monkeypatch.setattr(suites, "CHANGED_FILES", len(suites.test_files(kernels)))
    chosen, left = suites.quick(["ui/api"], changed)
    assert chosen == [*usual, kernels]
    assert left == [npu], "what is too much is named"


def test_rooms_that_are_always_tested_exist() -> None:
    places = {room: list((ROOT / "tests").glob(room)) for room in suites.ALWAYS}
    assert [room for room, found in places.items() if not any(p.is_file() or suites.test_files(p) for p in found)] == []


def test_files_of_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the main branch on, on it from the last commit; what is not committed in any case."""

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def commit(name: str) -> None:
        (tmp_path / name).write_text(name)
        git("add", name)
        git("commit", "-m", name)

    monkeypatch.setattr(suites, "ROOT", tmp_path)
    git("init", "-b", "main")
    for name in ("first", "second"):
        commit(name)
    (tmp_path / "new").write_text("")
    assert suites.changed_files() == ["second", "new"]
    git("switch", "-c", "branch")
    commit("third")
    commit("fourth")
    assert suites.changed_files() == ["fourth", "third", "new"]
    assert suites.turn() == 4


def test_the_turn_of_a_checkout_without_history(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"--is-shallow-repository": "true\n", "HEAD": "00000011deadbeef\n"}
    monkeypatch.setattr(suites, "git", lambda *arguments: answers[arguments[-1]])
    assert suites.turn() == 17
    monkeypatch.setattr(suites, "git", lambda *arguments: "")
    assert suites.turn() == 0


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Journals of their own: a run that this test is part of keeps its own."""
    monkeypatch.setattr(suites, "RESULTS", tmp_path)
    return tmp_path


def test_a_turn_after_the_time_leaves_everything(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert suites.main(["turn", "--number", "2010", "--until", "5"]) == 0
    out = capsys.readouterr().out
    assert f"part {2010 % suites.TURNS} of {suites.TURNS}, by the number 2010" in out
    assert "left, since the time is over: more front ends" in out
    assert "==" not in out


def test_the_quick_suite_says_what_it_has(
    results: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suites, "ALWAYS", ("ui/api",))
    monkeypatch.setattr(suites, "CHANGED_FILES", 0)
    monkeypatch.setattr(suites, "changed_files", lambda: ["src/mote/ir/ops/a.py", "README.md"])
    assert suites.main(["quick", "--until", "5"]) == 0
    out = capsys.readouterr().out
    beside = len(list((ROOT / "tests").glob("test_*.py")))
    assert f"suites: {1 + beside} rooms and files of tests, by 2 changed files" in out
    assert "suites: tests/ir/ops is too much for the quick suite" in out


def test_what_was_left_or_has_failed_is_listed(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for outcome, case in (("passed", "a"), ("left", "b"), ("left", "c"), ("failed", "d")):
        journal.add_line(results / "all.tsv", outcome, 1.0, f"tests/x.py::test_{case}")
    assert suites.main(["all", "--until", "5", "tests/ir/graph"]) == 0
    out = capsys.readouterr().out
    assert "1 cases have passed before" in out
    assert "left, since the time is over: 2 cases of tests/x.py" in out
    assert "failed: tests/x.py::test_d" in out
    assert out.endswith("1 passed, 1 failed, 0 skipped\n")
    assert suites.main(["all", "--again", "--until", "5"]) == 0
    assert "have passed before" not in capsys.readouterr().out
