"""Tables: classical models of `mote.search` at a tenth of the flash of a random forest of 100 trees.

    PYTHONPATH=src python benchmarks/search_tables.py [--only NAME ...] [--update]

The data sets that come with scikit-learn, each split several times (seeds from 0 on, stratified by class) into 70% to
train with and 30% to test with: ten times those of fewer than 200 samples, whose tests are small, others three times.
The forest has 100 trees with the defaults of scikit-learn, and is compiled for Cortex-M0+ for size, with its label or
prediction as the only output: over float32 features, and over features rounded to int8, which most of the other models
take. Of each split, random choices of trees, forests, linear models and perceptrons that take at most a tenth of the
flash of the forest over float32 features are ranked by five-fold cross-validation on the training part, three times
with other folds; where that has 1,000 samples or more, only the five that are best on a third of it that is held out,
and once. The best one is fitted to the training part, compiled, and tested once, as the very file that is compiled.
Accuracy is the share of right classes, or the coefficient of determination of values. Numbers are means over the
splits. `--update` writes the table into docs/improve/architecture-search.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import mote
from mote.compiler.fitting.code_size import code_size
from mote.compiler.line import compile as compile_file
from mote.compiler.settings import chosen_settings, parsed
from mote.optimize.nas.classical.classical_family import ClassicalFamily
from mote.optimize.nas.classical.classical_space import KIND, ClassicalSpace
from mote.optimize.nas.classical.estimators import FEW
from mote.optimize.nas.classical.forest_file import forest_file
from mote.optimize.nas.classical.model_files import FOREST, ModelFile, feature_scale, stored_rows
from mote.optimize.nas.costs.compiled_costs import costs_of
from mote.optimize.nas.costs.network_costs import CostLimits, NetworkCosts
from mote.optimize.nas.tasks import learning_tasks

PAGE = Path(__file__).parents[1] / "docs" / "improve" / "architecture-search.md"
BEGIN, END = "<!-- tables -->\n", "<!-- end of tables -->\n"
TARGET, SHARE, KEPT = "cortex-m0plus", 0.1, 5
SPLITS, SMALL = 3, {"iris": 10, "wine": 10}
"""Splits of a data set, and of those of fewer than 200 samples."""
CHOICES = {"tree": 24, "forest": 40, "linear": 24, "perceptron": 4}
"""Random choices of each kind."""
KINDS = tuple(CHOICES)
INT8 = {KIND: "forest", "features": "int8"}
SETS = {
    "iris": "load_iris",
    "wine": "load_wine",
    "breast cancer": "load_breast_cancer",
    "digits": "load_digits",
    "diabetes (R2)": "load_diabetes",
}
HEAD = (
    "| data | forest | flash | flash, int8 features | found | flash | share | share of int8 | kinds |\n"
    "|---|--:|--:|--:|--:|--:|--:|--:|---|"
)
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Outcome:
    """One split: accuracies on the test part, and bytes of flash."""

    forest: float
    flash: int
    int8_flash: int
    member: float
    member_flash: int
    kind: str


@dataclass(frozen=True, eq=False)
class Split:
    """A data set, divided into a part to train with and one to test with."""

    name: str
    seed: int

    @cached_property
    def parts(self) -> list[Array]:
        x, y = getattr(import_module("sklearn.datasets"), SETS[self.name])(return_X_y=True)
        labels = y if self.classes else y.astype(np.float32)
        split = import_module("sklearn.model_selection").train_test_split
        parts = split(
            x.astype(np.float32), labels, test_size=0.3, random_state=self.seed, stratify=y if self.classes else None
        )
        return list(parts)

    @property
    def classes(self) -> bool:
        return "R2" not in self.name

    @cached_property
    def family(self) -> ClassicalFamily:
        """Classical models for the training part."""
        x, _, y, _ = self.parts
        (task,) = learning_tasks(mote.dataset((x, y)), kind="table")
        settings = chosen_settings(None, {"target": TARGET, "optimize": "size"})
        return ClassicalFamily(task, settings, seed=self.seed)

    @cached_property
    def rows(self) -> tuple[Array, Array]:
        """All of the training part, standardized as the task says."""
        x, _, y, _ = self.parts
        return np.concatenate(list(self.family.task.prepared(mote.dataset((x, y))).inputs.values())), y

    @cached_property
    def tested(self) -> mote.Dataset:
        """The test part."""
        _, x, _, y = self.parts
        return self.family.task.prepared(mote.dataset((x, y)))

    def outcome(self) -> Outcome:
        forest, flash, int8 = self._forest()
        found, file = self._found(int(SHARE * flash))
        member = self.family.task.accuracy(file.data, self.tested)
        return Outcome(forest, flash, int8, member, _flash(self.family.costed(file)), found)

    def _forest(self) -> tuple[float, int, int]:
        """The accuracy of the forest, and its flash over float32 and over int8 features."""
        x, y = self.rows
        kind = "RandomForestClassifier" if self.classes else "RandomForestRegressor"
        made = getattr(import_module("sklearn.ensemble"), kind)
        fitted = made(100, random_state=self.seed).fit(x, y)
        options = {"outputs": ["label" if self.classes else "prediction"], "target": TARGET, "optimize": "size"}
        flash = costs_of(mote.compile(fitted, name="model", **options)).flash
        (rows,) = self.tested.inputs.values()
        scale = feature_scale(INT8, x)
        rounded = made(100, random_state=self.seed).fit(stored_rows(x, scale), y)
        int8 = ModelFile(FOREST, forest_file(rounded, True, scale), {"io": "int8"})
        return float(fitted.score(rows, self.tested.labels)), flash, _flash(self.family.costed(int8))

    def _found(self, most: int) -> tuple[str, ModelFile]:
        """The best choice that fits, by cross-validation, and its file."""
        x, y = self.rows
        family = replace(self.family, limits=CostLimits(flash=most))
        pricing = CodeByKernels(family, most)
        rng = Random(self.seed)
        scored = []
        for kind in KINDS:
            space = ClassicalSpace(kind, {kind: family.space.kinds[kind]})
            smallest = {KIND: kind, **{name: values[0] for name, values in family.space.kinds[kind].items()}}
            if pricing.flash(family.file(smallest, x, y)) > most:
                continue
            choices = {repr(choice): choice for choice in (space.random(rng) for _ in range(CHOICES[kind]))}
            for choice in choices.values():
                flash = pricing.flash(family.file(choice, x, y))
                if flash <= most:
                    scored.append((0.0 if len(y) < FEW else -family.held_out(choice, x, y), flash, choice))
        if len(y) >= FEW:
            scored = sorted(scored, key=lambda one: one[:2])[:KEPT]
        scored = [(-family.validated(choice, x, y), flash, choice) for _, flash, choice in scored]
        for _, _, choice in sorted(scored, key=lambda one: one[:2]):
            file = family.file(choice, x, y)
            if isinstance(family.costed(file), NetworkCosts):
                return choice[KIND], file
        raise SystemExit(f"{self.name}: nothing fits {most} bytes")


@dataclass(frozen=True)
class CodeByKernels:
    """Flash of files about as it is when they are linked: code is linked once for the same kernels."""

    family: ClassicalFamily
    most: int
    codes: dict[tuple[str, ...], int] = field(default_factory=dict)

    def flash(self, file: ModelFile) -> int:
        settings = replace(self.family.settings, name="model", **parsed(dict(file.options)))
        compiled = compile_file(file.data, settings)
        if compiled.project.constants > self.most:
            return compiled.project.constants
        kernels = tuple(step.kernel.name for step in compiled.plan.steps)
        if kernels not in self.codes:
            self.codes[kernels] = code_size(compiled).nbytes
        return compiled.project.constants + self.codes[kernels]


def _flash(costs: Any) -> int:
    assert isinstance(costs, NetworkCosts), costs
    return costs.flash


def row(name: str, outcomes: Sequence[Outcome]) -> str:
    """A row of the table."""

    def mean(of: Callable[[Outcome], float]) -> float:
        return float(np.mean([of(one) for one in outcomes]))

    kinds = ", ".join(f"{kind} {count}x" for kind, count in Counter(one.kind for one in outcomes).most_common())
    accuracy = "{:.3f}".format if "R2" in name else "{:.1%}".format
    cells = [
        name,
        accuracy(mean(lambda one: one.forest)),
        f"{mean(lambda one: one.flash):,.0f}",
        f"{mean(lambda one: one.int8_flash):,.0f}",
        accuracy(mean(lambda one: one.member)),
        f"{mean(lambda one: one.member_flash):,.0f}",
        f"{mean(lambda one: one.member_flash / one.flash):.3f}x",
        f"{mean(lambda one: one.member_flash / one.int8_flash):.3f}x",
        kinds,
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", nargs="+", metavar="NAME", choices=SETS, default=list(SETS), help="only these")
    p.add_argument("--update", action="store_true", help="write the table into the page")
    options = p.parse_args()
    warnings.filterwarnings("ignore")
    print(HEAD, flush=True)
    lines = []
    for name in options.only:
        lines.append(row(name, [Split(name, seed).outcome() for seed in range(SMALL.get(name, SPLITS))]))
        print(lines[-1], flush=True)
    if options.update:
        head, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        table = "\n".join([HEAD, *lines]) + "\n"
        PAGE.write_text(f"{head}{BEGIN}{table}{END}{rest.split(END, 1)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
