"""Families of networks: narrowed to what fits, with a supernet where its ranking is relied on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.base.progress import silent
from mote.compiler.settings import make_settings
from mote.optimize.nas.costs.network_costs import CostLimits, NetworkCosts
from mote.optimize.nas.costs.pricer import Pricer
from mote.optimize.nas.network_family import HALVING, SHARING, NetworkFamily
from mote.optimize.nas.spaces.space import SearchSpace
from mote.optimize.nas.spaces.space_file import builtin
from mote.optimize.nas.spaces.stage import SpaceStage
from mote.optimize.nas.tasks import learning_tasks

pytest.importorskip("torch", reason="networks are trained in PyTorch")
from mote.optimize.nas.training.teacher import NetworkTeacher

SPACE = SearchSpace("small", (SpaceStage("separable", width=(4, 8, 64), depth=(1, 2)),), SpaceStage("conv", width=4))
LIMITS = CostLimits(cycles=40_000)


def family(space: SearchSpace = SPACE, **options: Any) -> NetworkFamily:
    rng = np.random.default_rng(0)
    data = mote.dataset((rng.normal(size=(40, 6, 6, 1)).astype(np.float32), np.arange(40) % 2), labelled=True)
    pricer = Pricer(make_settings(target="cortex-m4"), LIMITS)
    given = {"epochs": 1, "device": "cpu", "count": 8} | options
    return NetworkFamily.of(space, learning_tasks(data, kind="image"), pricer, **given)


def test_a_space_is_narrowed_to_values_of_networks_that_fit() -> None:
    made = family(strategy=SHARING).prepared("", silent)
    assert made.state and made.shared
    assert all(isinstance(made.costs(choice), NetworkCosts) for choice in made.pool)
    assert made.space.largest()["stage1.width"] == 8 and SPACE.largest()["stage1.width"] == 64
    SPACE.check(made.space.largest())
    rng = Random(0)
    assert {made.random(rng)["stage1.width"] for _ in range(20)} == {4, 8}
    assert {made.mutated(made.space.smallest(), rng)["stage1.width"] for _ in range(20)} == {4, 8}
    assert made.space.size == len(made.pool) == 4, "the search begins with all of them"
    assert list(made.first())[2:] == list(made.pool)
    assert 0 <= made.score(made.pool[0], 0) <= 1


def test_random_networks_use_the_limits() -> None:
    made = family(strategy=HALVING)

    def mean(draw: Callable[[Random], Mapping[str, Any]]) -> float:
        rng = Random(0)
        networks = [made.network(draw(rng)) for _ in range(60)]
        return float(np.mean([network.macs for network in networks if made.pricer.may_fit(network)]))

    assert mean(made.random) > 1.15 * mean(SPACE.random)


def test_networks_of_wide_spaces_are_trained_one_by_one() -> None:
    even = replace(SPACE, stages=(replace(SPACE.stages[0], depth=1),))
    assert family(even).prepared("", silent).shared
    stages = (replace(SPACE.stages[0], width=(1, 2, 3, 4, 128)),)
    wide = replace(SPACE, stages=stages, stem=SpaceStage("conv", width=(1, 2, 3, 4, 128)))
    pricer = Pricer(make_settings(target="cortex-m4"))
    made = replace(family(wide, count=12), pricer=pricer).prepared("", silent)
    assert made.width > 8 and made.strategy == HALVING and not made.state and not made.shared


def test_depths_are_shared_by_blocks_with_shortcuts() -> None:
    made = family().prepared("", silent)
    assert not made.space.skips and made.strategy == HALVING
    assert made.pool and made.space == SPACE, "only supernets need fewer values"
    assert builtin("mobile").skips and not builtin("separable").skips
    assert replace(builtin("separable"), stages=(SpaceStage("separable", width=(4, 8), depth=2),)).skips


def test_one_network_needs_no_supernet() -> None:
    alone = SearchSpace("one", (SpaceStage("separable", width=4),))
    assert not family(alone, strategy=SHARING).shared
    assert family(alone).prepared("", silent).state == b""


def test_networks_learn_from_a_teacher_that_is_trained_once(tmp_path: Path) -> None:
    task = family().tasks[0]
    big = SearchSpace("big", (SpaceStage("residual", width=8),), SpaceStage("conv", width=8))
    teacher = NetworkTeacher(big, task, epochs=1, device="cpu")
    made, other = (family(strategy=HALVING, teacher=teacher) for _ in range(2))
    assert made.key != family(strategy=HALVING).key
    made.prepared(str(tmp_path / "journal"), silent)
    state = teacher.state
    assert state and (tmp_path / "journal.teacher").read_bytes() == state
    other.prepared("", silent)
    assert teacher.state is state
    choice = SPACE.smallest()
    taught, alone = (one._trained(one.network(choice), task, 2).state() for one in (made, family(strategy=HALVING)))
    assert taught != alone
    again = NetworkTeacher(big, task, epochs=1, device="cpu")
    again.prepare(str(tmp_path / "journal.teacher"), silent)
    assert again.state == state


def test_nothing_that_fits_is_no_reason_to_train() -> None:
    large = SearchSpace("large", (SpaceStage("conv", width=(500, 600)),))
    made = family(large, strategy=SHARING).prepared("", silent)
    assert not made.pool and not made.state


def test_time_shortens_the_training_of_a_supernet() -> None:
    said: list[str] = []
    assert len(family(epochs=3, strategy=SHARING, seconds=1e-9).prepared("", said.append).pool) == 1
    assert said[-1] == "supernet of small: 1 of 1 epochs"
    family(epochs=2, strategy=SHARING, seconds=1e9).prepared("", said.append)
    assert said[-1] == "supernet of small: 2 of 2 epochs"


def test_spaces_that_share_nothing_have_no_supernet() -> None:
    table = SearchSpace("rows", (SpaceStage("conv", width=4), SpaceStage("gru", width=(4, 8))))
    with pytest.raises(MoteError, match="networks of the space 'rows' cannot share their weights"):
        family(table, strategy=SHARING)
