"""Post-processing as the user states it: named steps with parameters, behind a model.

`moving-average=4,detect(yes,0.8,refractory=1s)` is two steps.
"""

from __future__ import annotations

from mote.frontends.features.postprocess.answer import WHERE, Answer
from mote.frontends.features.postprocess.steps import STEPS
from mote.frontends.features.stated import parts, stated

EXAMPLE = "moving-average=4,detect(1,0.8,refractory=1s)"


def with_postprocessing(answer: Answer, text: str) -> Answer:
    """The answer after the steps that a text states."""
    for part in parts(text, WHERE, EXAMPLE):
        answer = stated(part, STEPS, WHERE)(answer)
    return answer
