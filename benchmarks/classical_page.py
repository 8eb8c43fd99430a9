"""The table of docs/models/classical.md: what Mote reads of scikit-learn, from the estimators that the tests fit.

PYTHONPATH=src:. python benchmarks/classical_page.py --record
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mote.frontends.sklearn import boosters, forests
from mote.frontends.sklearn.reader import COMPOSITIONS, PREDICTIONS, TRANSFORMS

PAGE = Path(__file__).parents[1] / "docs" / "models" / "classical.md"
FORESTS = (
    "decision trees, random forests, extra trees, gradient boosting, `HistGradientBoosting*`, `IsolationForest`, `XGB*`"
    " and `LGBM*` of XGBoost and LightGBM"
)
BEGIN, END = "<!-- estimators -->\n", "<!-- end -->\n"


def table() -> str:
    """Estimators by what they are for, with the outputs that the tests compare."""
    outputs: dict[str, tuple[str, ...]] = {}
    _fill(outputs)
    rows = ["| estimator | outputs, compared with scikit-learn |", "|---|---|"]
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in sorted({*PREDICTIONS, *TRANSFORMS} - {*forests.PREDICTIONS, *boosters.PREDICTIONS}):
        groups.setdefault(outputs[name], []).append(f"`{name}`")
    for names, members in sorted(groups.items(), key=lambda pair: pair[0]):
        rows.append(f"| {', '.join(members)} | {', '.join(f'`{n}`' for n in names)} |")
    rows.append(f"| {FORESTS} | `label` and `probabilities` (`scores` of outliers), or `prediction` |")
    rows.append(f"| {', '.join(f'`{n}`' for n in sorted(COMPOSITIONS))} | those of what they are made of |")
    return "\n".join(rows) + "\n"


def _fill(outputs: dict[str, tuple[str, ...]]) -> None:
    """The outputs of each estimator: of one that shares a reader with another, those of the other."""
    from tests.frontends.sklearn.estimators import CASES, fitted

    from mote.frontends.sklearn.reader import known, model_of

    tables: list[Mapping[str, Any]] = [PREDICTIONS, TRANSFORMS]
    by_reader: dict[int, set[str]] = {}
    for case in CASES:
        estimator = fitted(case)
        name = known(estimator, PREDICTIONS) or known(estimator, TRANSFORMS)
        if name is not None:
            reader = PREDICTIONS.get(name) or TRANSFORMS[name]
            model = model_of(estimator, int(estimator.n_features_in_), case)
            by_reader.setdefault(id(reader), set()).update(model.tensors[t].name for t in model.outputs)
    for entries in reversed(tables):
        for name, reader in entries.items():
            outputs[name] = tuple(sorted(by_reader.get(id(reader), {"output"})))


def page() -> str:
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}{table()}{END}{rest.split(END, 1)[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the page")
    if parser.parse_args().record:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(table())


if __name__ == "__main__":
    main()
