"""The benchmarks: the tables that pages show, and the lock on what the bundled models cost."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anchors
import budgets
import compare
import doc_tables
import lock
import planning
import report_times
import summaries
from tests.helpers import onnx_models
from tests.helpers.support import emulated

LOCK = lock.load()
OPTIONAL = ("ai_edge_quantizer", "emlearn", "keras", "lightgbm", "onnxmltools", "skl2onnx", "torchao", "xgboost")
"""Packages of comparisons, which only some install."""


@pytest.mark.parametrize("case", lock.SOME, ids=lock.key)
def test_no_figure_has_grown_by_more_than_a_percent(case: lock.Case) -> None:
    core = emulated(case[1])
    if lock.compiler(core) != LOCK["compilers"][core]:
        pytest.skip(f"the lock is for {LOCK['compilers'][core]}, here is {lock.compiler(core)}")
    worse = lock.changes(case, LOCK["figures"][lock.key(case)], doc_tables.taken(case), margin=lock.MARGIN)
    assert not worse, "\n".join([*worse, f"if that is on purpose: {lock.UPDATE}"])


def test_growth_is_named() -> None:
    case = ("digits", "cortex-m4", "speed")
    before = {"cycles": 1000, "ram": 1000, "flash": 1000}
    after = {"cycles": 1011, "ram": 1010, "flash": 900}
    assert lock.changes(case, before, after, margin=lock.MARGIN) == [
        "digits cortex-m4 speed: cycles 1,000 -> 1,011 (+1.1%)"
    ]
    assert len(lock.changes(case, before, after, margin=0.0)) == 3
    assert "not in the lock" in lock.changes(case, {}, after, margin=lock.MARGIN)[0]


def test_the_lock_has_every_case_and_is_written_as_it_is() -> None:
    assert set(LOCK["figures"]) == set(map(lock.key, lock.CASES))
    assert set(lock.SOME) <= set(lock.CASES)
    assert lock.LOCK.read_text() == lock.text(LOCK)


@pytest.mark.parametrize("core", lock.CORES)
@pytest.mark.parametrize("model", lock.MODELS)
def test_speed_takes_no_more_cycles_than_balanced(model: str, core: str) -> None:
    """But for a thousandth: plans are chosen by estimates."""
    speed, balanced = (LOCK["figures"][lock.key((model, core, optimize))] for optimize in ("speed", "balanced"))
    assert speed["cycles"] <= 1.001 * balanced["cycles"]


def test_pages_show_the_results() -> None:
    sections = compare.read_results()
    sections |= summaries.derived(sections)
    shown = set()
    for page in compare.PAGES:
        text = page.read_text()
        assert compare.included(text, sections) == text, f"{page.name}: python benchmarks/compare.py --write"
        shown |= {found[2] for found in compare.MARKS.finditer(text)}
    assert shown == set(sections)


def test_tables_have_every_model_and_core() -> None:
    models = [a.name for a in anchors.load()]
    for name, text in compare.read_results().items():
        if name == "profile":
            continue
        head, _, *rows = [[c.strip() for c in line.strip("|").split("|")] for line in text.split("\n")]
        assert [row[0] for row in rows] == models
        assert all(len(row) == len(head) and all(row) for row in rows)
        assert name.startswith(("m4-", "m55-")) or tuple(head[1:]) == compare.CORES


def test_anchors() -> None:
    kws = next(a for a in anchors.load() if a.name == "KWS")
    assert kws.best_published("cortex-m4") == ("ST X-CUBE-AI 9.0", 5_180_000)
    assert kws.best_published("rv32imc") is None and kws.instructions(anchors.TINYENGINE, "cortex-m4") is None
    assert compare.ratio(50, 100) == "100 (0.50x)" and compare.ratio(1, None) == "-"


def test_pages_are_filled_between_the_marks() -> None:
    page = "a\n<!-- benchmark x -->\nold\n<!-- /benchmark -->\nb"
    assert compare.included(page, {"x": "new"}) == "a\n<!-- benchmark x -->\n\nnew\n\n<!-- /benchmark -->\nb"


def test_budgets(capsys: pytest.CaptureFixture[str]) -> None:
    assert budgets.main([str(anchors.HERE.parent / "models" / "digits.tflite"), "--points", "2"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[2:]][::4] == ["min", "default"]


@pytest.mark.parametrize("saturates", [False, True])
def test_saturating_integers_are_not_compared(saturates: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where ONNX Runtime's kernels saturate, the accuracy of its quantizer is that of its values in float."""
    onnx_quantizer = pytest.importorskip("onnx_quantizer", reason="needs ONNX Runtime")
    net = onnx_models.Net()
    net.output(net.op("Relu", net.input(1, 4)))
    made, level = onnx_quantizer.InferenceSession, []

    def noted(model: bytes, options: Any, **more: Any) -> Any:
        level.append(options.graph_optimization_level)
        return made(model, options, **more)

    monkeypatch.setattr(onnx_quantizer, "InferenceSession", noted)
    monkeypatch.setattr(onnx_quantizer, "saturates", lambda kind: saturates)
    answers = onnx_quantizer.OnnxModel(net.model(), False).run(np.array([[-1, 2, -3, 4]], np.float32))
    assert answers.tolist() == [[0, 2, 0, 4]]
    assert (level == [onnx_quantizer.GraphOptimizationLevel.ORT_DISABLE_ALL]) == saturates


def test_tables_of_the_docs_are_not_older_than_the_code() -> None:
    """The bundled models take what they took when each table was measured."""
    for _, core, _ in doc_tables.WITNESSES:
        if lock.compiler(emulated(core)) != LOCK["compilers"][core]:
            pytest.skip(f"the tables are for {LOCK['compilers'][core]}, here is {lock.compiler(core)}")
    old = doc_tables.stale()
    assert not old, f"measured with other code: {', '.join(old)}; make measure MODELS=FOLDER"


def test_every_table_has_its_place() -> None:
    pages = "".join(page.read_text() for page in doc_tables.PAGES)
    placed = {name for name, table in doc_tables.TABLES.items() if not table.writes}
    placed |= {name for table in doc_tables.TABLES.values() for name, _ in table.derived}
    assert set(re.findall("<!-- numbers ([a-z-]+) -->", pages)) == placed
    assert pages.count("<!-- /numbers -->") == len(placed)
    assert set(doc_tables.record()) <= set(doc_tables.TABLES)


@pytest.mark.parametrize("script", sorted(path.stem for path in anchors.HERE.glob("*.py")))
def test_every_benchmark_can_be_imported(script: str) -> None:
    """A name that the package no longer has is found before somebody measures."""
    try:
        import_module(script)
    except ImportError as error:
        if (error.name or "").partition(".")[0] in OPTIONAL:
            pytest.skip(f"needs {error.name}")
        raise


@pytest.mark.slow
def test_the_stages_of_a_report_are_found(tmp_path: Path) -> None:
    """One after another: what runs beside others in a report would count for both."""
    assert hasattr(report_times.report, report_times.POOL)
    model, page = planning.HERE.parent / "models" / "digits.tflite", tmp_path / "digits.html"
    found = report_times.stages(model, page, "cortex-m4", apart=True)
    assert found.keys() >= {report_times.START, *report_times.STAGES, report_times.SECTIONS, report_times.REST} - {
        "wasm"
    }
    assert all(cpu > 0 for cpu, _ in found.values()) and page.stat().st_size > 10_000


@pytest.mark.slow
def test_the_stages_of_compiling_are_found() -> None:
    """The functions that are measured are those that `mote compile` calls, and all but a rest is in one of them."""
    model = (planning.HERE.parent / "models" / "digits.tflite").read_bytes()
    found = planning.stages(model, runs=1)
    assert list(found) == [planning.TOTAL, "start-up", "read", "optimize", "plan", "self-test", "emit", "build", "rest"]
    assert all(seconds >= 0 for seconds in found.values())
