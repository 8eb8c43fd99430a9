"""Results of public functions: documented fields, a line as text, HTML for notebooks, and JSON types."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mote
from mote.base import notebook
from mote.bench.evaluation.result import Against, ByReference, OnCore, SampleAnswer
from mote.bench.generators.checks import GeneratorCheck
from mote.bench.measure.run import Flash, LayerCost, Ram
from mote.compiler.plan.selection.external_report import ExternalRegion
from mote.deploy.boards.session import BoardSession
from mote.deploy.update.session import Device, UpdateOutcome
from mote.hardware.npu.stream import made
from mote.hardware.targets import Reads
from mote.hardware.targets.energy import EnergyModel
from mote.optimize.nas.costs.network_costs import CostLimits, NetworkCosts
from mote.optimize.nas.spending import Spending
from mote.optimize.tune.calibration.memory_fit import MemoryFit
from tests.bench.measure.energy.test_fit import profile as energy_profile
from tests.deploy.boards.stand_in import StandIn
from tests.helpers.notebooks import assert_readable, parsed
from tests.helpers.support import emulated

ROOT = Path(__file__).parents[3]
DIGITS = ROOT / "models" / "digits.tflite"
FLOAT = ROOT / "models" / "digits.onnx"
TEST = ROOT / "models" / "digits_test.npz"
EVIL = '<script>alert(\'&"x")</script>'
"""A name that must not become part of a page."""


@cache
def compiled() -> mote.Compiled:
    return mote.compile(DIGITS, target="cortex-m4")


@cache
def front() -> mote.Front:
    return mote.explore(DIGITS, target="cortex-m4", points=1, measure=False)


def _profile() -> mote.Profile:
    return mote.profile(mote.compile(DIGITS, target=emulated("cortex-m4")), layers=False)


def _image(folder: Path) -> Path:
    path = folder / "digits.mote"
    mote.pack(DIGITS).write(path)
    return path


def _delta(folder: Path) -> mote.Delta:
    mote.pack(DIGITS, model_version=2).write(folder / "new.mote")
    return mote.delta(_image(folder), folder / "new.mote")


def _disassembly(folder: Path) -> mote.Disassembly:
    stream = made("ethos-u55", 128, [])
    (folder / "payload.bin").write_bytes(stream.with_commands([stream.command("STOP", 0xFFFF)]).encode())
    return mote.disassemble(folder / "payload.bin")


def _flash(folder: Path) -> mote.FlashResult:
    (folder / "model.uf2").write_bytes(b"UF2\n" + bytes(24) + (0xE48BFF56).to_bytes(4, "little") + bytes(480))
    (folder / "drive").mkdir()
    (folder / "drive" / "INFO_UF2.TXT").write_text("Board-ID: test\n")
    return mote.flash(folder / "model.uf2", "rp2040", tool="drive", port=str(folder / "drive"), dry_run=True)


def _signed(folder: Path) -> tuple[mote.Signing, mote.ImageVerdict]:
    pytest.importorskip("cryptography", reason="keys need the package cryptography")
    mote.sign(new_key=folder / "key.pem", passphrase="")
    signing = mote.sign(_image(folder), key=folder / "key.pem")
    return signing, mote.verify_image(folder / "digits.mote", folder / "key.pub.pem")


def _project(folder: Path) -> Path:
    path = folder / "mote.toml"
    path.write_text(f'[models.digits]\nfile = "{DIGITS}"\ncheck.verify = false\n')
    return path


def _energy() -> mote.EnergyFit:
    return mote.fit_energy([energy_profile(EnergyModel(other_pj=200.0), 0, count=3)])


MEMORY = MemoryFit(Reads(5, 8, True, 8, 128, 32), 0.01, {"hops": 0.01}, 40)
DEVICE = Device(1, "trial", 1, 0, 256, 65536, 3, 6736, 0xCAFE, 3, 7, 0, 6736, 0xCAFE, 0, 0)


def _board() -> mote.BoardInfo:
    line = StandIn()
    identity = BoardSession(line, clock=line.clock).identity
    return mote.BoardInfo("desk", "tcp:desk:4000", identity, ((0x20000000, 65536),), (40,), (24,), 600, 700)


def _member() -> mote.SearchMember:
    costs = NetworkCosts(900, 8000, 20000, 2e-4, 3e-6)
    return mote.SearchMember("mobile-1", "mobile", "width 8", {"width": 8}, 0.9, 0.88, costs, {"model.tflite": b""})


def _searched() -> mote.SearchResult:
    return mote.SearchResult(
        data="train.npz",
        test="test.npz",
        target="stm32l4r5",
        task="image",
        metric="accuracy",
        limits=CostLimits(ram=1000, latency=1e-3),
        members=(_member(),),
        dominated=(replace(_member(), name="mobile-2", test=0.8),),
        families=("mobile",),
        trials=20,
        costed=300,
        epochs=30,
        seed=0,
        spent=Spending(60.0, 90.0, 900.0),
        settings=compiled().settings,
    )


RESULTS: dict[str, Callable[[Path], Any]] = {
    "AgentProject": lambda _: mote.agent(DIGITS, target="cortex-m4"),
    "Backend": lambda _: mote.backends(target="host")[0],
    "BoardFlashed": lambda _: mote.BoardFlashed(_board(), "flashed by pyocd"),
    "BoardInfo": lambda _: _board(),
    "BoardList": lambda _: mote.board(),
    "BuildResult": lambda folder: mote.build(project=_project(folder)),
    "Calibration": lambda _: mote.Calibration("cortex-m4", "a board", MEMORY),
    "CheckResult": lambda folder: mote.check(project=_project(folder)),
    "Compiled": lambda _: compiled(),
    "CompiledModels": lambda _: mote.compile_shared([DIGITS]),
    "Converted": lambda _: mote.convert(FLOAT, verify=False),
    "Dataset": lambda _: mote.dataset(TEST),
    "Delta": _delta,
    "Diagnosis": lambda _: mote.doctor("host", "flash"),
    "Device": lambda _: DEVICE,
    "Disassembly": _disassembly,
    "EnergyFit": lambda _: _energy(),
    "Evaluation": lambda _: mote.evaluate(DIGITS, TEST, worst=2),
    "FlashResult": _flash,
    "Front": lambda _: front(),
    "GeneratorReport": lambda _: mote.GeneratorReport("g", "host", 1, (GeneratorCheck("exact", True, "LiteRT"),)),
    "Image": lambda _: mote.pack(DIGITS),
    "ImageDump": lambda folder: mote.dump(_image(folder)),
    "ImageVerdict": lambda folder: _signed(folder)[1],
    "Inspection": lambda _: mote.inspect(DIGITS),
    "LoadedImage": lambda folder: mote.load_image(_image(folder)),
    "MemoryPlan": lambda _: mote.plan(DIGITS, target="cortex-m4"),
    "Point": lambda _: front().points[0],
    "Profile": lambda _: _profile(),
    "Quantized": lambda _: mote.quantize(FLOAT, random_calibration=True, rounding="nearest"),
    "RunResult": lambda _: mote.run(DIGITS),
    "Runtime": lambda _: mote.runtime("minimal"),
    "SearchMember": lambda _: _member(),
    "SearchResult": lambda _: _searched(),
    "ShrinkResult": lambda _: mote.shrink(DIGITS, inputs=20),
    "Signing": lambda folder: _signed(folder)[0],
    "ThresholdFit": lambda _: mote.fit_threshold(DIGITS, TEST, event=3),
    "Tuned": lambda _: mote.tune(DIGITS, target="cortex-m4", trials=1),
    "UpdateOutcome": lambda _: UpdateOutcome(DEVICE, "delta", 120, 0, 120, state="confirmed"),
    "VerifyResult": lambda _: mote.verify(DIGITS, 1),
}
OTHERS = {"CMakeFiles", "Finding", "Mixed", "Pruned", "Report", "Settings"}
"""Results whose own tests call `assert_readable`, and data classes that are no results."""
PARTS = (GeneratorCheck, ExternalRegion, LayerCost, Ram, Flash, SampleAnswer, ByReference, OnCore, Against)


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("name", RESULTS)
def test_results_can_be_read(name: str, tmp_path: Path) -> None:
    result = RESULTS[name](tmp_path)
    assert type(result).__name__ == name
    assert_readable(result)


def test_every_public_result_is_tested() -> None:
    classes = {name for name in mote.__all__ if inspect.isclass(getattr(mote, name))}
    results = {name for name in classes if is_dataclass(getattr(mote, name))}
    assert results == set(RESULTS) | OTHERS & results


@pytest.mark.parametrize(
    "kind", [getattr(mote, name) for name in RESULTS] + [mote.Pruned, *PARTS], ids=lambda kind: kind.__name__
)
def test_fields_are_documented(kind: type) -> None:
    """A string follows each field, which editors and the reference show; results cannot be changed."""
    (body,) = [node.body for node in ast.parse(inspect.getsource(kind)).body if isinstance(node, ast.ClassDef)]
    documented = {
        field.target.id
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }
    assert {field.name for field in fields(kind)} <= documented
    methods = [name for name, member in vars(kind).items() if not name.startswith("_") and callable(member)]
    assert all(vars(kind)[name].__doc__ for name in methods)
    assert kind.__dataclass_params__.frozen or kind is UpdateOutcome  # type: ignore[attr-defined]


@pytest.mark.slow
def test_names_of_models_are_no_html(tmp_path: Path) -> None:
    inspection = mote.inspect(DIGITS)
    layers = [replace(layer, name=EVIL) for layer in inspection.layers]
    result = mote.run(DIGITS)
    shown = [
        replace(inspection, model=EVIL, layers=layers, warnings=[EVIL]),
        replace(result, model=EVIL, values={EVIL: np.zeros(3)}, layers=[replace(x, name=EVIL) for x in result.layers]),
        replace(mote.dataset(TEST), where=EVIL),
        replace(front(), model=EVIL),
        replace(_searched(), data=EVIL, notes=(EVIL,)),
        replace(mote.verify(DIGITS, 1), model=EVIL, reference=EVIL),
        replace(compiled(), path=EVIL, warnings=(EVIL,)),
    ]
    for one in shown:
        page = parsed(one._repr_html_())
        assert EVIL in page.text


@pytest.mark.slow
@settings(max_examples=30)
@given(
    st.text(max_size=20), st.lists(st.tuples(st.text(), st.one_of(st.none(), st.integers(), st.floats(), st.text())))
)
def test_tables_hold_any_text(title: str, rows: list[tuple[object, ...]]) -> None:
    page = parsed(notebook.card(title, {title: title}, notebook.table(("a", title), rows), notes=[title]))
    assert page.text.count("and") >= (len(rows) > notebook.MOST_ROWS)


def test_tables_leave_out_empty_columns_and_say_what_is_not_shown() -> None:
    html = notebook.table(("name", "empty", "n"), [(f"row {i}", None, i) for i in range(notebook.MOST_ROWS + 5)])
    assert "empty" not in html and "and 5 more" in html and html.count("<tr>") == notebook.MOST_ROWS + 1
    assert notebook.table(("a",), []) == ""
