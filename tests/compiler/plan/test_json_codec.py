"""Plans are data: written as JSON and read back they are equal, and so is the C that is made from them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mlperf_tiny
from mote.compiler.emit.c.project import Job, generate
from mote.compiler.line import compile, golden
from mote.compiler.package.packagers import packaged
from mote.compiler.plan.check import check
from mote.compiler.plan.json_codec import SerialError, dump, load, same
from mote.compiler.plan.memory.plan_bound import bound
from mote.compiler.plan.plan import Plan
from tests.compiler.plan.test_plan import MODELS

MODES: dict[str, dict[str, Any]] = {
    "speed": {"optimize": "speed"},
    "balanced": {},
    "size": {"optimize": "size"},
    "ram min": {"least_ram": True},
    "within": {"ram": 1_000},
    "input rows": {"input": "rows"},
    "stream": {"stream": 1, "causal": True},
    "step": {"step": "row"},
    "red zones": {"red_zones": True},
    "recompute": {"least_ram": True, "recompute": 20},
    "memories": {"target": "stm32h750"},
}


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("mode", MODES)
def test_every_mode(mode: str) -> None:
    model = mlperf_tiny.build("sww") if mode == "stream" else MODELS / "digits.tflite"
    compiled = compile(model, **{"target": "cortex-m4", **MODES[mode]})
    written = compiled.plan.to_json()
    again = Plan.from_json(written)
    assert again == compiled.plan and again.to_json() == written
    check(again)
    project = packaged(generate(Job(again, compiled.project.options, golden(again.graph))), compiled.settings.target)
    assert project.files == compiled.project.files


def test_the_bound_can_be_proved_from_what_was_written() -> None:
    plan = compile(MODELS / "digits.tflite", input="rows").plan
    assert bound(Plan.from_json(plan.to_json())) == bound(plan) <= plan.arena


def test_what_differs_is_not_equal() -> None:
    plan = compile(MODELS / "digits.tflite").plan
    step = plan.steps[0]
    kernel = replace(step.kernel, params={**step.kernel.params, "more": np.zeros(1, np.int8)})
    other = replace(plan, steps=(replace(step, kernel=kernel), *plan.steps[1:]))
    assert plan == replace(plan) and plan != other and Plan.from_json(other.to_json()) == other
    assert not same(np.zeros(2, np.int8), np.zeros(2, np.uint8)) and not same((1,), (1.0,))


def test_what_is_shared_stays_shared() -> None:
    array = np.arange(3)
    a, (b, c) = load(dump((array, (array, array.copy()))))  # type: ignore[misc]
    assert a is b and a is not c and same(a, c)


FOREIGN = json.dumps({"objects": [{"$type": "os:system"}], "root": None})


@pytest.mark.parametrize("text", ["", "[]", "{}", FOREIGN, '{"objects": [], "root": {}}'])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(SerialError, match="not written by Mote"):
        load(text)


def test_only_data_is_written() -> None:
    with pytest.raises(TypeError, match="list is no plain data"):
        dump([1])
