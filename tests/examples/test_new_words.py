"""The example of new words, learned and recognised on an emulated core: it prints what its page says."""

from __future__ import annotations

import pytest

from tests.examples.pages import printed, quoted


@pytest.mark.slow
def test_new_words_are_recognised() -> None:
    said = printed("new_words").splitlines()
    assert said[-1] == "All scores are those of the reference, bit for bit."
    assert [line for line in quoted("new_words", "--costs").splitlines() if line in said] == said


@pytest.mark.slow
def test_the_page_says_what_is_printed() -> None:
    assert printed("new_words", "--costs") == quoted("new_words", "--costs")
