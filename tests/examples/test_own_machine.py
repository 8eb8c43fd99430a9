"""The example of a detector that adapts to its machine: on an emulated core it prints what its page says."""

from __future__ import annotations

import pytest

from tests.examples.pages import printed, quoted


@pytest.mark.slow
def test_the_threshold_follows_the_machine() -> None:
    said = printed("own_machine").splitlines()
    assert said[-1].startswith("The core's scores equal those of NumPy")
    assert [line for line in quoted("own_machine", "--costs").splitlines() if line in said] == said


@pytest.mark.slow
def test_the_page_says_what_is_printed() -> None:
    assert printed("own_machine", "--costs") == quoted("own_machine", "--costs")
