"""The test suite for authors of generators: the example passes it, and each way to be wrong fails its check."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.bench.generators.checks import GeneratorCheck, _Suite, rank_correlation
from mote.bench.generators.layers import LAYERS, layer_of, layers_model
from mote.compiler.kernels.contract import Refusal
from mote.compiler.offload import backends
from mote.compiler.offload.contract import Artifact, Blob, Generator, Invocation, Missing, Pointer
from mote.hardware.targets import Target, load
from mote.ir.graph import Graph, Op
from mote.ui.cli import main
from tests.helpers.support import emulated

EXAMPLE = Path(__file__).parents[3] / "examples" / "generator"


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Generators that a test has loaded are forgotten with it."""
    before = dict(backends.GENERATORS)
    yield
    backends.GENERATORS.clear()
    backends.GENERATORS.update(before)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The example as pip would install it: its package and the entry points of its pyproject.toml."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    shutil.copytree(EXAMPLE / "src", tmp_path, dirs_exist_ok=True)
    name, version = project["name"], project["version"]
    info = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()) for group, points in groups]
    (info / "entry_points.txt").write_text("".join(lines), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    for module in [m for m in sys.modules if m.partition(".")[0] == "mote_lookup"]:
        del sys.modules[module]


def checks(report: mote.GeneratorReport) -> dict[str, GeneratorCheck]:
    return {check.name: check for check in report.checks}


FEW = ("logistic", "two_functions", "add")


@pytest.mark.slow
def test_the_example(installed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By the name of its package, from the command line; `mote backends` lists it."""
    assert main(["check-generator", installed, "--layers", ",".join(FEW), "--inputs", "2"]) == 0
    text = capsys.readouterr().out
    assert "lookup-tables for host" in text and "passed, 8 artifacts" in text and "failed" not in text
    assert main(["backends", "--json", "-t", "cortex-m4"]) == 0
    listed = {backend["name"]: backend for backend in json.loads(capsys.readouterr().out)}
    assert listed["lookup-tables"]["origin"] == "mote-lookup 1.0" and listed["lookup-tables"]["ready"]
    assert listed["lookup-tables"]["targets"] == ["cortex-m4"] and "mote" in listed
    made = mote.compile(layers_model(("two_functions",)), backend="lookup-tables", kernels={"0": "lookup-tables"})
    assert mote.verify(made, inputs=2).exact
    assert "lookup-tables[variant=flash]" in [step.kernel.variant for step in made.plan.steps]
    assert made.project.external and made.project.external[0].endswith("lookup_tables.c")


@pytest.mark.slow
def test_costs_against_cycles(installed: str) -> None:
    """The costs of the example follow the cycles of an emulated core; costs that are all the same do not."""
    target = emulated("cortex-m4")
    report = mote.check_generator("lookup-tables", target=target, layers=["logistic", "hard_swish"], inputs=1)
    assert report.passed and checks(report)["costs"].passed, report
    assert "4 regions take " in checks(report)["costs"].detail
    flat = _Suite(Functions(), load(target), 1, 0, None, costs=[(7.0, 100.0 * n) for n in range(1, 6)])
    wrong = checks(flat.report())["costs"]
    assert wrong.passed is False and "rank correlation 0.00" in wrong.failures[0]


HEADER = """\
#include <stdint.h>
void negate(int8_t *table, int8_t *in, int8_t *out, int8_t *work, int32_t count);
"""
SOURCE = """\
#include "negate.h"

void negate(int8_t *table, int8_t *in, int8_t *out, int8_t *work, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        work[i] = table[in[i] + 128];
    }
    for (int32_t i = 0; i < count; i++) {
        out[i] = work[i];
    }
    BROKEN
}
"""


LEAST = "((uintptr_t)in & (uintptr_t)out & (uintptr_t)work & (uintptr_t)table & 7) == 4"
"""Everything lies at multiples of four bytes and none of eight, as only a harness does it."""


class Functions(Generator):
    """Looks functions up by way of working memory; `broken` is C at the end."""

    name = "functions"

    def __init__(self, broken: str = "", **changes: Any) -> None:
        self.broken, self.changes = broken, changes
        self.built = 0

    def claims(self, graph: Graph, target: Target) -> Iterable[Op]:
        return [op for op in graph.ops if op.table(graph) is not None]

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal | Sequence[Artifact]:
        table = region.table(graph)
        assert table is not None
        self.built += 1
        x, y = region.inputs[0], region.outputs[0]
        count = graph.tensors[x].size
        artifact = Artifact(
            calls=(Invocation("negate", (*map(Pointer, ("table", x, y, "scratch")), count)),),
            cost=10.0 * count,
            header="negate.h",
            blobs=(Blob("table", table.reshape(-1).astype(np.int8)),),
            files={"negate.h": HEADER, "negate.c": SOURCE.replace("BROKEN", self.broken)},
            scratch=count,
        )
        return replace(artifact, **self.changes)


def failed(generator: Generator, *layers: str) -> dict[str, GeneratorCheck]:
    report = mote.check_generator(generator, layers=layers or ("logistic",), inputs=2)
    assert not report.passed
    return {check.name: check for check in report.checks if check.passed is False}


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("broken", "check", "why"),
    [
        ("out[count / 2] ^= 1;", "exact", "values differ, by 1 at most"),
        ("work[count] = 1;", "memory and alignment", "writes outside of its outputs and its working memory"),
        ("in[0] = (int8_t)(in[0] + 1);", "memory and alignment", "changes its inputs"),
        (f"if ({LEAST}) {{ out[0] ^= 1; }}", "memory and alignment", "other results at the alignment"),
        ("this is no C", "builds", "layer 'logistic'"),
    ],
)
def test_wrong_c(broken: str, check: str, why: str) -> None:
    wrong = failed(Functions(broken))
    assert list(wrong) == [check] and why in wrong[check].failures[0], wrong
    assert "layer 'logistic'" in wrong[check].failures[0]


def test_blobs_that_are_written() -> None:
    """In flash that is a crash, unless the C does it behind its back."""
    wrong = failed(Functions(f"if ({LEAST}) {{ table[3] = (int8_t)(table[3] + 1); }}"))
    assert "changes its blobs" in wrong["memory and alignment"].failures[0]


class Counting(Functions):
    """Builds something else each time."""

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal | Sequence[Artifact]:
        made = super().build(region, graph, target)
        return replace(made, code=self.built) if isinstance(made, Artifact) else made


class Silent(Functions):
    """Refuses without a word."""

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal | Sequence[Artifact]:
        return Refusal("") if region.name == "logistic" else super().build(region, graph, target)


class Raising(Functions):
    """Has a bug in Python."""

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal | Sequence[Artifact]:
        raise KeyError(region.name)


def test_wrong_python() -> None:
    assert "a second build differs" in failed(Counting())["same each time"].failures[0]
    assert "refused without a reason" in failed(Silent(), "logistic", "leaky_relu")["refusals"].failures[0]
    assert "KeyError: 'logistic'" in failed(Raising())["builds"].failures[0]
    assert "it builds none of the layers" in failed(Functions(), "add")["builds"].failures[0]


def test_only_the_wrong_layer_is_named() -> None:
    """C that does not compile for one layer stands in the way of all; each is then built alone."""

    class Once(Functions):
        def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal | Sequence[Artifact]:
            made = super().build(region, graph, target)
            assert isinstance(made, Artifact)
            wrong = {"twice.h": "#include <nowhere.h>\n", **made.files}
            return replace(made, header="twice.h", files=wrong) if region.name == "leaky_relu" else made

    wrong = failed(Once(), "logistic", "leaky_relu")
    assert list(wrong) == ["builds"] and [f[:18] for f in wrong["builds"].failures] == ["layer 'leaky_relu'"]


def test_what_is_no_generator(installed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, why in (
        ("lookup-table", r"no generator and no package 'lookup-table'\n  help: did you mean: lookup-tables\?"),
        ("numpy", "the package 'numpy' announces no generator"),
        ("nowhere:Nothing", "cannot be loaded: ModuleNotFoundError"),
        ("pathlib:Path", "which is no Generator"),
    ):
        with pytest.raises(MoteError, match=why):
            mote.check_generator(text)
    with pytest.raises(MoteError, match=r"there is no layer 'conv'\n  help: did you mean"):
        mote.check_generator("mote_lookup:LookupTables", layers=["conv"])
    monkeypatch.setattr(Functions, "missing", lambda self: Missing("a driver", "buy one"))
    with pytest.raises(MoteError, match="cannot be used here: a driver"):
        mote.check_generator(Functions())


def test_backends(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is said with the remedy; what cannot be loaded as well."""
    monkeypatch.setattr(Functions, "missing", lambda self: Missing("a driver is not there", "buy one"))
    mote.register_generator(Functions())
    (one,) = (backend for backend in mote.backends() if backend.name == "functions")
    assert not one.ready and one.origin == "registered" and one.remedy == "buy one" and "cortex-m4" in one.targets
    assert main(["backends"]) == 0
    text = capsys.readouterr().out
    assert "a driver is not there: buy one" in text and "Mote's own kernels" in text
    assert {"mote", *backends.BUILT_IN} <= {backend.name for backend in mote.backends()}
    assert "ethos-u" not in {b.name for b in mote.backends(target="cortex-m4") if b.ready}


def test_the_layers() -> None:
    """All of them are one model; each operator is named after its layer."""
    graph = mote.load(layers_model(tuple(LAYERS)))
    assert {layer_of(op.name) for op in graph.ops} == set(LAYERS) and len(graph.outputs) == len(LAYERS)
    assert layers_model(("add",), 1) == layers_model(("add",), 1)
    assert layers_model(("conv_1x1",), 1) != layers_model(("conv_1x1",), 2)


def test_rank_correlation() -> None:
    line = np.arange(6.0)
    assert rank_correlation(line, line**3) == 1 and rank_correlation(line, -line) == -1
    assert rank_correlation(line, np.ones(6)) == 0 and 0 < rank_correlation(line, np.array([1, 0, 2, 4, 3, 5.0])) < 1
