"""Classical models as a family of a search: what is scored is what is compiled."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.compiler.settings import chosen_settings
from mote.frontends import load
from mote.ir.ops.classical.forest import Forest
from mote.optimize.nas.classical.classical_family import ClassicalFamily
from mote.optimize.nas.classical.classical_space import KIND, KINDS, REGRESSION
from mote.optimize.nas.classical.estimators import fit
from mote.optimize.nas.classical.forest_file import forest_file
from mote.optimize.nas.classical.model_files import feature_scale, model_file, stored_rows
from mote.optimize.nas.costs.compiled_costs import costs_of
from mote.optimize.nas.costs.network_costs import CostLimits, DoesNotFit, NetworkCosts
from mote.optimize.nas.tasks import learning_tasks

pytest.importorskip("sklearn")
pytest.importorskip("onnx")
SMALL: dict[str, dict[str, Any]] = {
    "tree": {"leaves": 5},
    "forest": {"trees": 5, "leaves": 4},
    "boosting": {"trees": 5, "leaves": 4, "smallest": 5, "rate": 0.4},
    "linear": {"loss": "logistic", "inverse": 10.0},
    "perceptron": {"units": 4, "decay": 0.01},
    "neighbours": {"prototypes": 2, "neighbours": 1},
    "kernel": {"samples": 32},
}
INEXACT = ("forest", "perceptron")
"""Kinds whose files vote or round where the estimator does not."""
PAGE = Path(__file__).parents[4] / "docs" / "improve" / "architecture-search.md"


def choice(kind: str, **options: Any) -> dict[str, Any]:
    return {KIND: kind, **{name: v[0] for name, v in KINDS[kind].items()}, **SMALL.get(kind, {}), **options}


@cache
def family(outputs: int) -> ClassicalFamily:
    """Blobs of two or three classes, or a line with some noise for one output."""
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, (90, 4)).astype(np.float32)
    y = (x[:, 0] - 2 * x[:, 1] + rng.normal(0, 0.1, 90)).astype(np.float32)
    if outputs > 1:
        labels = np.arange(90) % outputs
        x[np.arange(90), labels] += 3
        y = labels
    (task,) = learning_tasks(mote.dataset((x, y)))
    return ClassicalFamily(task, chosen_settings(None, {"target": "host", "optimize": "size"}))


def rows(of: ClassicalFamily) -> tuple[Any, Any]:
    (x,) = of.task.train.inputs.values()
    return x, np.asarray(of.task.train.labels)


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("outputs", [3, 2, 1])
def test_the_file_predicts_as_the_estimator(kind: str, outputs: int) -> None:
    if outputs == 1 and kind not in REGRESSION:
        pytest.skip("only for classes")
    of, one = family(outputs), choice(kind)
    x, y = rows(of)
    stored = stored_rows(x, feature_scale(one, x))
    made = fit(one, stored, y, outputs > 1, 0)
    file = model_file(one, made, x, outputs > 1).data
    graph = load(file)
    got = np.array([graph.evaluate(c)[graph.outputs[0]].reshape(-1)[0] for c in of.task.train.cases(graph)])
    if outputs == 1:
        spread = 0.05 * np.ptp(y) if kind in ("linear", "perceptron") else 1e-4
        scale = graph.tensors[graph.outputs[0]].quant
        got = got if scale is None else (got - scale.zero_point) * scale.scale
        assert np.allclose(got, made.predict(stored), atol=spread)
        return
    scored = hasattr(made, "coefs_")
    want = made._forward_pass_fast(stored).argmax(1) if scored else made.predict(stored)
    assert np.mean(got == want) > (0.85 if kind in INEXACT else 0.97)
    assert of.task.accuracy(file, of.task.train) == np.mean(got == y)


@pytest.mark.parametrize("kind", ["tree", "linear"])
def test_a_member_costs_what_is_compiled(kind: str) -> None:
    of, one = family(3), choice(kind)
    made = of.finish(one, 1)
    compiled = mote.compile(made.files[made.model], target="host", optimize="size", name="model", **made.options)
    assert of.costs(one) == costs_of(compiled)
    assert made.validation > 0.8 and of.score(one, 1) > 0.8
    assert of.finish(one, 1).files == made.files


def test_what_does_not_fit() -> None:
    of = family(3)
    limited = ClassicalFamily(of.task, of.settings, CostLimits(ram=1))
    verdict = limited.costs(choice("tree"))
    assert isinstance(verdict, DoesNotFit) and "RAM" in verdict.reason
    assert isinstance(of.costs(choice("tree")), NetworkCosts) and limited.key != of.key


@pytest.mark.parametrize("hard", [True, False])
def test_leaves_are_whole_numbers(hard: bool) -> None:
    x, y = rows(family(3))
    graph = load(forest_file(fit(choice("forest", smallest=5), x, y, True, 0), hard, 0.05))
    (forest,) = (op for op in graph.ops if isinstance(op, Forest))
    assert forest.output(graph).dtype == "int32"
    assert forest.trees.values.max() == (1 if hard else 15)


def test_a_search_of_a_table_chooses_among_them(tmp_path: Path) -> None:
    x, y = rows(family(3))
    result = mote.search((x, y), test=(x, y), space="classical", target="host", trials=4, finalists=2)
    assert {member.family for member in result.members} == {"classical"}
    assert max(member.test for member in result.members) > 0.8
    result.write(tmp_path / "best")
    assert list((tmp_path / "best").glob("classical-*/model.*"))


def test_a_search_takes_the_file_of_the_page(tmp_path: Path) -> None:
    """Its space has forests and linear models only."""
    section = PAGE.read_text(encoding="utf-8").split("\n## Tables\n")[1]
    file = tmp_path / "own.toml"
    file.write_text(section.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    x, y = rows(family(3))
    result = mote.search((x, y), test=(x, y), space=file, target="host", trials=4, finalists=2)
    every = (*result.members, *result.dominated)
    assert {member.family for member in every} == {"few-trees"} and f"--space {file}" in result.command()
    assert {member.choice["kind"] for member in every} <= {"forest", "linear"}


def test_images_have_none() -> None:
    (task,) = learning_tasks(mote.dataset((np.random.default_rng(0).normal(size=(20, 8, 8, 1)), np.arange(20) % 2)))
    with pytest.raises(MoteError, match="for tables"):
        ClassicalFamily(task, family(3).settings)
