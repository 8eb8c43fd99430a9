"""What is said while long work goes on."""

from __future__ import annotations

import pytest

from mote.base.progress import counted, duration


def test_what_is_left_is_judged_by_what_was_done() -> None:
    said: list[str] = []
    seconds = iter((0.0, 1.0, 5.0, 5.1, 6.0))
    done = counted(said.append, "compiled model", lambda: next(seconds))
    for count in (100, 1200, 1210, 1500):
        done(count, 10_000)
    assert said == [
        "compiled model: 1,200 of 10,000, about 37 s left",
        "compiled model: 1,500 of 10,000, about 34 s left",
    ]


@pytest.mark.parametrize(("seconds", "said"), [(4.4, "4 s"), (119, "119 s"), (600, "10 min"), (9000, "2.5 h")])
def test_durations_are_in_the_unit_that_a_person_would_use(seconds: float, said: str) -> None:
    assert duration(seconds) == said
