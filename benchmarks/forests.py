"""Forests against emlearn: instructions of a prediction, and bytes of flash, on emulated cores.

    PYTHONPATH=src python benchmarks/forests.py [--only NAME ...] [--update]

The same fitted forests of scikit-learn, on features that are int16, which is what emlearn takes. emlearn writes trees
inline, as code, or loadable, as tables; Mote has kernels of both kinds, and by default takes tables. Mote compiles the
class alone (`outputs=["label"]`). Everything is compiled with the same options (-O2). Instructions are the mean over
samples, bytes are code and constants with all library functions. What Mote says must be what scikit-learn says, for
every sample; how often emlearn agrees is a column of the table. Forests whose leaves are no single class are compared
with emlearn's leaves of eight bits. `--update` writes the table into docs/models/classical.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from mote import compile, run
from mote.base.errors import MoteError
from mote.base.files import temporary_folder
from mote.hardware import targets, toolchain
from mote.hardware.toolchain import Mode

PAGE = Path(__file__).parents[1] / "docs" / "models" / "classical.md"
BEGIN, END = "<!-- forests -->\n", "<!-- end of forests -->\n"
CORES = ("cortex-m4", "cortex-m0plus")
SAMPLES = 40
Array = np.ndarray[Any, Any]

GLUE = """\
#include "harness.h"
static int16_t x[{features}];
static {type} y;
{type} model_predict(const int16_t *features, int32_t count);
const uint32_t harness_input_count = 1, harness_output_count = 1, harness_step_count = 1;
void *harness_input(uint32_t i) {{ (void)i; return x; }}
size_t harness_input_bytes(uint32_t i) {{ (void)i; return sizeof x; }}
const void *harness_output(uint32_t i) {{ (void)i; return &y; }}
size_t harness_output_bytes(uint32_t i) {{ (void)i; return sizeof y; }}
int harness_init(void) {{ return 0; }}
int harness_check(void) {{ return 0; }}
int harness_run(void) {{ y = model_predict(x, {features}); return 0; }}
"""


@dataclass(frozen=True)
class Costs:
    """What a program takes, and what it says."""

    instructions: float
    nbytes: int
    said: Array


@dataclass(frozen=True)
class Row:
    """A forest on a core."""

    name: str
    core: str
    inline: Costs | None
    loadable: Costs | None
    code: Costs
    table: Costs
    agrees: float | None
    """The share of samples for which emlearn says what scikit-learn says."""

    @property
    def text(self) -> str:
        pairs = ((self.inline, self.code), (self.loadable, self.table))
        cells = [cell for theirs, ours in pairs for cell in (*_cells(theirs), *_cells(ours))]
        agreed = "-" if self.agrees is None else f"{self.agrees:.1%}"
        return "| " + " | ".join([self.name, _short(self.core), *cells, agreed]) + " |"


def _cells(costs: Costs | None) -> tuple[str, str]:
    return ("-", "-") if costs is None else (f"{costs.instructions:,.0f}", f"{costs.nbytes:,}")


HEAD = (
    "| forest | core | emlearn inline | bytes | Mote, code | bytes | emlearn loadable | bytes | Mote, table | bytes"
    " | emlearn agrees |\n|---|---|" + "--:|" * 9
)


@dataclass(frozen=True)
class Forest:
    """A forest to fit, and the data for it."""

    estimator: Callable[[], Any]
    data: Callable[[], tuple[Array, Array]]
    emlearn: bool = True
    leaf_bits: int | None = None


def digits() -> tuple[Array, Array]:
    """Pixels from 0 to 16."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return x.astype(np.int16), y


def cancer() -> tuple[Array, Array]:
    """Real features, scaled to what int16 holds."""
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True)
    return np.round(x * np.minimum(32000 / np.abs(x).max(axis=0), 1000)).astype(np.int16), y


def synthetic() -> tuple[Array, Array]:
    from sklearn.datasets import make_classification

    x, y = make_classification(1500, 20, n_informative=10, n_classes=5, random_state=0)
    return np.round(x * 2000).astype(np.int16), y


def diabetes() -> tuple[Array, Array]:
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True)
    return np.round(x * 1e5).astype(np.int16), y


def of(kind: str, home: str = "ensemble", **options: Any) -> Callable[[], Any]:
    """An estimator of scikit-learn's, always grown in the same way."""

    def made() -> Any:
        return getattr(import_module(f"sklearn.{home}"), kind)(random_state=0, **options)

    return made


FORESTS: dict[str, Forest] = {
    "digits, one tree": Forest(of("DecisionTreeClassifier", "tree"), digits),
    "digits, random forest, 10 trees": Forest(of("RandomForestClassifier", n_estimators=10), digits),
    "digits, random forest, 100 trees": Forest(of("RandomForestClassifier", n_estimators=100), digits),
    "digits, extra trees, 30 trees": Forest(of("ExtraTreesClassifier", n_estimators=30), digits),
    "cancer, random forest, 10 trees": Forest(of("RandomForestClassifier", n_estimators=10), cancer),
    "cancer, random forest, 100 trees": Forest(of("RandomForestClassifier", n_estimators=100), cancer),
    "cancer, extra trees, 50 trees": Forest(of("ExtraTreesClassifier", n_estimators=50), cancer),
    "synthetic, random forest, 20 trees": Forest(of("RandomForestClassifier", n_estimators=20), synthetic),
    "synthetic, 20 trees of 6 levels": Forest(
        of("RandomForestClassifier", n_estimators=20, max_depth=6), synthetic, leaf_bits=8
    ),
    "diabetes, regression, 20 trees of 5 levels": Forest(
        of("RandomForestRegressor", n_estimators=20, max_depth=5), diabetes
    ),
    "cancer, boosted, 100 trees of 3 levels": Forest(
        of("GradientBoostingClassifier", n_estimators=100), cancer, emlearn=False
    ),
}


def theirs(forest: Forest, fitted: Any, rows: Array, core: str, method: str) -> Costs:
    """What emlearn's code takes."""
    import emlearn

    classifier = hasattr(fitted, "classes_")
    bits = {} if forest.leaf_bits is None else {"leaf_bits": forest.leaf_bits}
    model = emlearn.convert(fitted, method=method, dtype="int16_t", **bits)
    target = targets.load(core)
    with temporary_folder() as folder:
        model.save(name="model", file=str(folder / "model.h"), format="c")
        (folder / "model.c").write_text('#include "model.h"\n', encoding="utf-8")
        glue = GLUE.format(features=rows.shape[1], type="int32_t" if classifier else "float")
        (folder / "glue.c").write_text(glue, encoding="utf-8")
        work = folder / "build"
        elf = toolchain.build(
            folder,
            [folder / "model.c"],
            folder / "glue.c",
            target,
            toolchain.find_compiler(target),
            mode=Mode.MEASURE,
            optimize="balanced",
            workdir=work,
            extra_flags=[f"-I{Path(emlearn.__file__).parent}", "-Wno-unused"],
        )
        raw = [[row.tobytes()] for row in rows]
        emulator = toolchain.find_emulator(target)
        done = toolchain.execute(elf, target, emulator, raw, workdir=work, mode=Mode.MEASURE, timeout_s=300)
        sizes = toolchain.sizes(elf, target)
    assert sizes is not None and done.instructions is not None
    said = np.array([np.frombuffer(o[0], np.int32 if classifier else np.float32)[0] for o in done.outputs])
    return Costs(float(np.mean(done.instructions)), sizes.code + sizes.constants, said)


def ours(fitted: Any, rows: Array, core: str, kernel: str) -> Costs:
    """What Mote's code takes with a kernel."""
    name = "label" if hasattr(fitted, "classes_") else "prediction"
    compiled = compile(fitted, target=core, features="int16", outputs=[name], kernels={"0": kernel})
    result = run(compiled, rows[:, None, :], layers=False)
    said = np.array([inference.outputs[name].reshape(-1)[0] for inference in result.inferences])
    counts = [inference.instructions or 0 for inference in result.inferences]
    return Costs(float(np.mean(counts)), result.flash.total, said)


def measured(name: str, cores: Sequence[str] = CORES) -> list[Row]:
    """A forest on all cores."""
    forest = FORESTS[name]
    x, y = forest.data()
    fitted = forest.estimator().fit(x, y)
    rows = x[:: max(1, len(x) // SAMPLES)][:SAMPLES]
    want = fitted.predict(rows)
    found = []
    for core in cores:
        code, table = (ours(fitted, rows, core, kernel) for kernel in ("forest_code", "forest"))
        for costs in (code, table):
            if not np.allclose(_named(fitted, costs.said), want, rtol=1e-6, atol=0):
                raise MoteError(f"{name}: Mote does not say what scikit-learn says")
        inline, loadable = (
            theirs(forest, fitted, rows, core, method) if forest.emlearn else None for method in ("inline", "loadable")
        )
        agrees = None if inline is None else float(np.mean(np.isclose(_named(fitted, inline.said), want, rtol=1e-3)))
        found.append(Row(name, core, inline, loadable, code, table, agrees))
    return found


def _named(fitted: Any, said: Array) -> Array:
    """Classes for their numbers."""
    return np.asarray(fitted.classes_[said]) if hasattr(fitted, "classes_") else said


def rows() -> list[str]:
    """The rows of the table as the page has it."""
    _, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    return [line for line in rest.split(END)[0].splitlines()[2:] if line]


def page(found: Sequence[Row]) -> str:
    """The page with these rows in place of those of the same forests; all are in the order of the forests."""
    lines = {line.split(" | ")[0].removeprefix("| ") + line.split(" | ")[1]: line for line in rows()}
    for row in found:
        lines[row.name + _short(row.core)] = row.text
    order = [lines[key] for name in FORESTS for core in CORES if (key := name + _short(core)) in lines]
    head, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    table = "\n".join([HEAD, *order]) + "\n"
    return f"{head}{BEGIN}{table}{END}{rest.split(END, 1)[1]}"


def _short(core: str) -> str:
    return {"cortex-m4": "M4", "cortex-m0plus": "M0+"}[core]


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", nargs="+", metavar="NAME", choices=FORESTS, default=list(FORESTS), help="only these")
    p.add_argument("--update", action="store_true", help="write the table into the page")
    options = p.parse_args()
    warnings.filterwarnings("ignore")
    print(HEAD, flush=True)
    for name in options.only:
        found = measured(name)
        print("\n".join(row.text for row in found), flush=True)
        if options.update:
            PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
