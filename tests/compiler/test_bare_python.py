"""Pythons that lack much of the system, such as those in browsers: models are compiled there as anywhere."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mote
from mote.base import system
from mote.base.system import AbsentModule

SOURCES = Path(mote.__file__).parent
MODELS = Path(__file__).parents[2] / "models"
LACKS = """
import sys, threading
for name in ("fcntl", "pty", "termios", "tty", "subprocess", "multiprocessing", "resource"):
    sys.modules[name] = None
def start(thread):
    raise RuntimeError("can't start new thread")
threading.Thread.start = start
"""
BUILDS = """
import mote
mote.compile({keywords!r}, target="cortex-m4").write({folder!r})
mote.compile({digits!r}, target="cortex-m0plus", single_file=True).write({archive!r}, ["arduino"])
mote.report({digits!r}, target="cortex-m4").write({page!r})
"""


@pytest.mark.slow
def test_without_processes_threads_and_locks_the_same_is_written(tmp_path: Path) -> None:
    """And a report without what only emulators can say."""
    keywords, digits = str(MODELS / "keywords.tflite"), str(MODELS / "digits.tflite")
    for lacks, place in ((LACKS, tmp_path / "bare"), ("", tmp_path / "whole")):
        place.mkdir()
        folder, archive, page = (str(place / name) for name in ("keywords", "arduino.zip", "report.html"))
        builds = BUILDS.format(keywords=keywords, digits=digits, folder=folder, archive=archive, page=page)
        if not lacks:
            builds = builds.rpartition("mote.report")[0]
        subprocess.run([sys.executable, "-c", lacks + builds], check=True)
    assert "<html" in (tmp_path / "bare" / "report.html").read_text(encoding="utf-8")[:200]
    for name in ("arduino.zip", "keywords/mote.sha256"):
        assert (tmp_path / "bare" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_module_that_is_not_there_says_so_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    assert isinstance(system.fcntl, AbsentModule)
    with pytest.raises(OSError, match=r"this Python has no fcntl\.flock"):
        system.fcntl.flock(0, 0)
    assert issubclass(system.fcntl.SomeError, Exception)


def test_work_is_done_at_once_where_no_thread_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "has_threads", lambda: False)
    with system.thread_pool(2) as pool:
        assert list(pool.map(abs, [-1, 2])) == [1, 2]
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 1, 0).result()


def test_modules_that_may_be_missing_are_imported_in_one_place() -> None:
    missing = {*system.MODULES, "termios"}
    allowed = {SOURCES / "base" / "system.py"}
    for path in set(SOURCES.rglob("*.py")) - allowed:
        text = path.read_text(encoding="utf-8")
        if not any(f"import {name}" in text or f"from {name}" in text for name in missing):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                assert not {alias.name.partition(".")[0] for alias in node.names} & missing, path
            elif isinstance(node, ast.ImportFrom):
                assert (node.module or "").partition(".")[0] not in missing, path
