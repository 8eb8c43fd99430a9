"""Kernels of CMSIS-NN beside Mote's: estimates of all that is called, tuning that measures both, and both fronts."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import mote
from mote.base.errors import MoteError
from mote.compiler.line import planned
from mote.compiler.offload.backends import named
from mote.compiler.offload.cmsis_nn import CmsisNN
from mote.compiler.offload.cmsis_nn.calls import CALLERS
from mote.compiler.offload.cmsis_nn.costs import cycles
from mote.compiler.offload.cmsis_nn.files import PATH
from mote.compiler.offload.contract import Artifact, Offload, Offloaded, forget
from mote.compiler.passes.pipeline import optimize
from mote.compiler.plan.selection.code_size_model import code, flash
from mote.compiler.settings import make_settings
from mote.compiler.subject import given_model
from mote.hardware import targets
from mote.optimize.search import running
from mote.optimize.tune.database import CostDatabase
from mote.optimize.tune.trials import TuningTask
from mote.optimize.tune.tuner import Best, Tuner, TuningEffort
from tests.compiler.offload.cmsis_nn.conftest import LIBRARY
from tests.compiler.offload.cmsis_nn.layers import MODELS
from tests.helpers.network import Net
from tests.optimize.tune.counting import Counted

CORES = ("cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55", "cortex-m85")


def tiny() -> bytes:
    net = Net()
    return net.finish(net.fully_connected(net.flat(net.conv(net.input(1, 4, 4, 4), 8)), 4))


TINY = tiny()


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mote's own functions, with the estimates of the real ones."""
    monkeypatch.setenv(PATH, str(LIBRARY))
    forget()


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", CORES)
def test_all_that_is_called_has_an_estimate(core: str, library: None) -> None:
    target = targets.load(core)
    for make in MODELS.values():
        graph = optimize(mote.frontends.load(make()))[0]
        for op in graph.ops:
            if type(op) in CALLERS and isinstance(CmsisNN().build(op, graph, target), Artifact):
                assert 0 < cycles(graph, op, target) < math.inf


@pytest.mark.parametrize("core", CORES)
def test_all_that_is_called_has_its_bytes_of_code(core: str, library: None) -> None:
    target = targets.load(core)
    for make in MODELS.values():
        graph = optimize(mote.frontends.load(make()))[0]
        for op in graph.ops:
            built = CmsisNN().build(op, graph, target) if type(op) in CALLERS else None
            if isinstance(built, Artifact):
                assert built.code > 0 and sum(built.linked.values()) > 100, built.calls[0].function


def test_functions_that_layers_share_are_counted_once(library: None) -> None:
    """A convolution of one row calls what others do as well; functions that round once are copies of others."""
    net = Net()
    image, vector = net.input(1, 4, 4, 4), net.input(1, 16)
    outputs = [net.conv(image, 8), net.conv(image, 4), net.fully_connected(vector, 4)]
    graph = optimize(mote.frontends.load(net.finish(*outputs)))[0]
    offered = Offload((CmsisNN(),), targets.load("cortex-m4")).kernels(graph)
    first, second, connected = (kernels[0] for kernels in offered.values())
    own = sum(kernel.own_flash for kernel in (first, second))
    assert flash([first, second]) - own == flash([first]) - first.own_flash > 5000
    assert all(name.startswith("cmsis_nn_once_") for name in code(connected))


def test_it_is_not_taken_for_less_flash_than_it_takes(library: None) -> None:
    """On the bundled model its functions took 6.4 KB, and were counted with 0.5 KB."""
    keywords = Path(__file__).parents[4] / "models" / "keywords.tflite"
    plan = planned(mote.frontends.load(keywords.read_bytes()), make_settings("cortex-m4", backend="mote,cmsis-nn"))
    assert not any(isinstance(step.kernel, Offloaded) for step in plan.steps)


def test_only_cores_of_arm(library: None) -> None:
    served = {targets.load(part).core.name for part in targets.names() if CmsisNN().serves(targets.load(part))}
    assert served == {"arm", "host"}
    with pytest.raises(MoteError, match="backend 'cmsis-nn' does not serve the target rv32imc"):
        mote.compile(TINY, target="rv32imc", backend="cmsis-nn")


def tuned(measurer: Counted) -> tuple[TuningTask, Best]:
    settings = make_settings("cortex-m4", optimize="speed", backend="mote,cmsis-nn")
    task = TuningTask(given_model(TINY, settings), settings, measurer)
    with running(task) as runner:
        return task, Tuner(task, runner, CostDatabase(None), TuningEffort(600, 40)).run()


def test_tuning_takes_the_faster_of_both(library: None) -> None:
    """A kernel of either is taken where it was measured to be faster."""
    task, best = tuned(Counted(("cmsis-nn",)))
    kernels = {op.kind: steps[0].kernel for op, steps in task.compile(best.setup).plan.works}
    assert all(isinstance(kernels[kind], Offloaded) for kind in ("CONV_2D", "FULLY_CONNECTED"))
    assert "cmsis-nn" in best.setup.kernels.values()


@pytest.mark.slow
def test_tuning_leaves_what_is_slower(library: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is estimated."""
    monkeypatch.setattr(CmsisNN, "estimate", lambda self, graph, op, target: 1.0)
    measurer = Counted()
    monkeypatch.setattr(Counted, "of", lambda self, kernel: 5000 if isinstance(kernel, Offloaded) else 100)
    task, best = tuned(measurer)
    assert not any(isinstance(step.kernel, Offloaded) for step in task.compile(best.setup).plan.steps)


def test_pins_know_their_backend(library: None, tmp_path: Path) -> None:
    """A file of pins asks for the backend that it needs, and one that differs is refused."""
    result = mote.tune(TINY, target="cortex-m4", backend="mote,cmsis-nn", trials=3, measurer=Counted(("cmsis-nn",)))
    result.write(tmp_path / "pins.toml")
    assert 'backend = "cmsis-nn"' in (tmp_path / "pins.toml").read_text(encoding="utf-8")
    made = mote.compile(TINY, target="cortex-m4", pins=tmp_path / "pins.toml")
    assert made.settings.external == ("cmsis-nn",)
    with pytest.raises(MoteError, match="was tuned with"):
        mote.compile(TINY, target="cortex-m4", pins=tmp_path / "pins.toml", backend="esp-nn")


def test_exploring_shows_both(library: None) -> None:
    front = mote.explore(TINY, target="cortex-m4", backend="mote,cmsis-nn", points=1, measure=False)
    assert front.own is not None and front.own.own is None
    assert all(point.external == 0 for point in front.own.points)
    assert min(p.cost for p in front.points) <= min(p.cost for p in front.own.points)
    assert front.json()["own"]["points"] and named(["cmsis-nn"])
    alone = mote.explore(TINY, target="cortex-m4", backend="cmsis-nn", points=1, measure=False)
    assert alone.own is None
