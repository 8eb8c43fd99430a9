"""The example of new words, learned and recognised on an emulated core: it prints what its page says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.support import emulated

EXAMPLE = Path(__file__).parents[2] / "examples" / "new_words"
COMMAND = "$ python examples/new_words/new_words.py --costs\n"


def printed(*arguments: str) -> str:
    emulated("cortex-m4")
    program = [sys.executable, EXAMPLE / "new_words.py", *arguments]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def quoted() -> str:
    """What the page says that the example prints."""
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    return page.split(COMMAND)[1].split("```")[0]


def test_new_words_are_recognised() -> None:
    said = printed().splitlines()
    assert said[-1] == "All scores are those of the reference, bit for bit."
    assert [line for line in quoted().splitlines() if line in said] == said


@pytest.mark.soak
def test_the_page_says_what_is_printed() -> None:
    assert printed("--costs") == quoted()
