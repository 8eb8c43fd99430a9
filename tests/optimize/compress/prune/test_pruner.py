"""`mote.prune` and `mote prune`: targets are met, files are models, and what cannot be done is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.compiler.passes.normal_form import normal
from mote.ir.graph.tensor import Array
from mote.optimize.compress.prune.limits import PruningTarget, first_within, limit_of
from mote.ui.cli import main
from tests.helpers.network import Net
from tests.helpers.notebooks import assert_readable
from tests.helpers.support import emulated

SIZE = (4, 4, 4)


def small(dtype: str = "float32") -> bytes:
    """Two convolutions of 16 channels that are added, and a classifier of four classes."""
    net = Net(0, dtype)
    x = net.conv(net.input(1, *SIZE), 16, 3, fused_activation_function="RELU")
    x = net.add(x, net.conv(x, 16, 3))
    return net.finish(net.fully_connected(net.mean(x), 4))


def samples(count: int = 40, seed: int = 0) -> tuple[Array, Array]:
    """Random pictures, and what the model thinks of them."""
    x = np.random.default_rng(seed).normal(size=(count, *SIZE)).astype(np.float32)
    graph = mote.load(small())
    answers = [graph.evaluate({graph.inputs[0]: picture[None]})[graph.outputs[0]] for picture in x]
    return x, np.array([int(answer.argmax()) for answer in answers])


@pytest.fixture(scope="module")
def pruned() -> mote.Pruned:
    return mote.prune(small(), samples(), macs="60%", target="cortex-m4", test=samples(30, 1))


def test_a_target_of_multiplications_is_met_by_fewer_channels(pruned: mote.Pruned) -> None:
    assert pruned.after.macs <= 0.6 * pruned.before.macs
    graph = normal(mote.load(pruned.data))
    assert sum(op.macs(graph) for op in graph.ops) == pruned.after.macs
    assert [change.after for change in pruned.layers] != [change.before for change in pruned.layers]
    assert all(change.after % 4 == 0 for change in pruned.layers)


def test_points_say_what_they_cost_and_how_good_they_are(pruned: mote.Pruned) -> None:
    assert_readable(pruned)
    before, after = pruned.before, pruned.after
    assert before.costs is not None and after.costs is not None
    assert after.costs.flash < before.costs.flash and after.costs.cycles < before.costs.cycles
    assert before.metric == "top1" and before.accuracy is not None and after.accuracy is not None
    assert before.accuracy > 0.8 and before.noise == float("inf") and 0 < after.noise < 60
    assert json.loads(json.dumps(pruned.json()))["after"]["costs"]["flash"] == after.costs.flash


@pytest.mark.parametrize("how", [{"macs": "60%"}, {"kind": "clusters", "flash": "90%"}], ids=["channels", "clusters"])
def test_accuracies_are_those_of_the_file(how: dict[str, str], pruned: mote.Pruned) -> None:
    """Of the file that is written, and of it quantized by `mote quantize`; the unpruned model is scored alike."""
    data, test = samples(), mote.dataset(samples(30, 1))
    found = pruned if "kind" not in how else mote.prune(small(), data, target="cortex-m4", test=test, **how)
    for point, file in ((found.after, found.data), (found.before, small())):
        integer = mote.quantize.post_training(file, data)
        assert point.accuracy == mote.score(file, test).value
        assert point.int8_score == mote.score(integer.data, test)
    said = found.json()["after"]
    assert said["interval"] == list(found.after.int8_score.interval) and 0.25 <= said["largest_class"] < 1
    assert any("95% interval" in note for note in found.notes)
    assert any("--fine-tune" in note for note in found.notes) == ("kind" not in how)


def test_quantizing_keeps_clusters(pruned: mote.Pruned) -> None:
    """Adaptive rounding leaves weights alone that are whole steps."""
    clustered = mote.prune(small(), samples(), kind="clusters", flash="80%", target="cortex-m4")
    graph = mote.quantize.post_training(clustered.data, samples()).graph
    counts = [len(np.unique(op.input(graph, 1).data)) for op in graph.ops if op.macs(graph)]
    assert counts == [change.after for change in clustered.layers] and min(counts) < 60


def test_instructions_are_counted_where_there_are_tools(pruned: mote.Pruned) -> None:
    emulated("cortex-m4")
    assert pruned.before.costs is not None and pruned.after.costs is not None and not pruned.estimated
    assert pruned.before.costs.instructions is not None and pruned.after.costs.instructions is not None
    assert pruned.after.costs.instructions < pruned.before.costs.instructions


@pytest.mark.slow
def test_a_cluster_gives_the_same(scheduler: str) -> None:
    here, elsewhere = (mote.prune(small(), samples(), macs="60%", scheduler=place) for place in ("", scheduler))
    assert elsewhere.json() == here.json()


@pytest.mark.slow
def test_a_cluster_measures_the_same(pruned: mote.Pruned, scheduler: str) -> None:
    elsewhere = mote.prune(small(), samples(), macs="60%", target="cortex-m4", test=samples(30, 1), scheduler=scheduler)
    assert elsewhere.json() == pruned.json()


@pytest.mark.slow
def test_points_of_other_processes_are_the_same(pruned: mote.Pruned) -> None:
    elsewhere = mote.prune(small(), samples(), macs="60%", target="cortex-m4", test=samples(30, 1), workers=2)
    assert elsewhere.json() == pruned.json()


@pytest.mark.slow
def test_a_target_of_cycles_is_met() -> None:
    found = mote.prune(small(), samples()[0], cycles="70%")
    assert found.before.costs is not None and found.after.costs is not None
    assert found.after.costs.cycles <= 0.7 * found.before.costs.cycles


@pytest.mark.slow
def test_few_distinct_weights_meet_a_target_of_flash() -> None:
    """Biases are corrected after the flash was measured, so that a few bytes more or less are in it."""
    net = Net(0, "float32")
    hidden = net.op("RELU", [net.fully_connected(net.input(1, 32), 80)])
    model = net.finish(net.fully_connected(hidden, 4))
    data = np.random.default_rng(0).normal(size=(32, 32)).astype(np.float32)
    found = mote.prune(model, data, kind="clusters", flash="75%")
    assert found.before.costs is not None and found.after.costs is not None and found.optimize == "size"
    assert found.after.costs.flash <= 0.76 * found.before.costs.flash
    assert any(change.after < change.before for change in found.layers)


@pytest.mark.slow
def test_blocks_stay_zero_while_what_is_left_is_trained() -> None:
    found = mote.prune(small(), samples(), kind="blocks", macs="60%", fine_tune=1, samples=24)
    assert found.after.macs <= 0.6 * found.before.macs and found.fine_tuned == 1
    zeros = {
        op.name: float((op.input(found.graph, 1).data == 0).mean()) for op in found.graph.ops if op.macs(found.graph)
    }
    assert max(zeros.values()) > 0.3


class Command:
    """Files of a model and data, and the command on them."""

    def __init__(self, folder: Path) -> None:
        self.model, self.data, self.out = folder / "m.tflite", folder / "data.npz", folder / "out.tflite"
        self.model.write_bytes(small())
        x, y = samples()
        np.savez(self.data, x=x, y=y)

    def __call__(self, *options: str) -> int:
        return main(["prune", str(self.model), "--data", str(self.data), "-o", str(self.out), *options])


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.mark.slow
def test_the_command_writes_the_model_and_says_what_it_costs(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--macs", "60%", "--test", str(command.data), "--front") == 0
    said = capsys.readouterr().out
    for word in ("channels", "unpruned", "75%", "pruned", "top1", "`mote quantize`"):
        assert word in said
    assert mote.load(command.out).ops


REFUSED = {
    "impossible": (("--macs", "1%"), "however much is pruned"),
    "met already": (("--macs", "100000000"), "that it may take as it is"),
    "no percentage": (("--macs", "half"), "neither a percentage nor a number"),
    "more than all": (("--macs", "150%"), "not between 0% and 100%"),
    "clusters of multiplications": (("--clusters", "--macs", "50%"), "save flash, and nothing else"),
    "trained clusters": (("--clusters", "--flash", "90%", "--fine-tune", "1"), "a value of its own again"),
    "no samples": (("--macs", "50%", "--samples", "0"), "at least 2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_done_is_said(name: str, command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    options, reason = REFUSED[name]
    assert command(*options) == 1
    assert reason in capsys.readouterr().err
    assert not command.out.exists()


def test_models_that_are_not_pruned_are_refused() -> None:
    with pytest.raises(MoteError, match="is quantized") as error:
        mote.prune(small("int8"), samples()[0], macs="50%")
    assert "mote quantize" in error.value.remedy
    net = Net(0, "float32")
    alone = net.finish(net.fully_connected(net.input(1, 8), 4))
    with pytest.raises(MoteError, match="has no channels to prune"):
        mote.prune(alone, np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32), macs="50%")


@pytest.mark.parametrize("options", ({}, {"macs": "50%", "flash": 1000}))
def test_there_is_one_target(options: dict[str, Any]) -> None:
    with pytest.raises(MoteError, match=r"targets? w(as|ere) given"):
        limit_of(**{"macs": None, "flash": None, "cycles": None} | options)


def test_the_first_way_that_is_cheap_enough_is_taken() -> None:
    costs = [100, 90, 90, 70, 50, 20, 10]
    for most in range(10, 100):
        found, number = first_within(PruningTarget("macs", number=most), len(costs), lambda n, _: costs[n], "net")
        assert costs[found] <= most < costs[found - 1] and number == most
    assert limit_of(macs=None, flash="2K", cycles=None) == PruningTarget("flash", number=2048)
    assert first_within(limit_of(macs="70%"), len(costs), lambda n, _: costs[n], "net") == (3, 70)


def test_no_data_and_data_of_another_shape_are_refused() -> None:
    with pytest.raises(MoteError):
        mote.prune(small(), np.zeros((0, *SIZE), np.float32), macs="50%")
    with pytest.raises(MoteError):
        mote.prune(small(), np.random.default_rng(0).normal(size=(9, 3, 3)).astype(np.float32), macs="50%")
