"""The front: from the least RAM to the fastest, nothing in it that is no use."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

import mote
from mote.base.errors import BudgetError, InternalError, MoteError
from mote.compiler.kernels import library
from mote.compiler.options.parsing import UNLIMITED, point_settings
from mote.compiler.settings import make_settings
from mote.optimize.search.explorer import Front, Planned, _NamedPlan, _point, explore_around
from tests.helpers.network import Net
from tests.helpers.support import emulated

DIGITS = Path(__file__).parents[3] / "models" / "digits.tflite"


def small() -> bytes:
    """Two convolutions that are done by rows where RAM is short, and a classifier."""
    net = Net()
    x = net.conv(net.input(1, 8, 8, 4), 8)
    return net.finish(net.fully_connected(net.mean(net.conv(x, 8)), 4))


SMALL = small()


def check(front: Front) -> None:
    points = front.points
    assert points
    for a, b in pairwise(points):
        assert a.ram < b.ram and a.cost > b.cost
    names = [n for p in (*points, *front.dominated) for n in p.names]
    assert len(names) == len(set(names)) and {"least", "fastest"} <= set(names)
    for p in (*points, *front.dominated):
        for how, size in (name.split("-") for name in p.names if "-" in name):
            assert int(size) == p.ram if how == "ram" else int(size) > p.ram
    first, last = front.little_flash[0], front.little_flash[-1]
    assert "smallest" in first.names and "small" in last.names and len({first, last}) == len(front.little_flash)
    assert first.cost >= last.cost and (first.flash <= last.flash or not front.measured)
    for worse in front.dominated:
        assert any(p.ram <= worse.ram and p.cost <= worse.cost for p in points)
    ElementTree.fromstring(front.svg())


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("options", [{}, {"input": "rows"}, {"optimize": "speed"}], ids=str)
def test_estimated(options: dict[str, str]) -> None:
    front = mote.explore(DIGITS, points=4, measure=False, **options)
    check(front)
    assert front.reason == "as asked for" and front.points[0].ram < front.points[-1].ram
    for point in front.points:
        for name in point.names:
            compiled = mote.compile(DIGITS, **{**options, **point_settings(name)})
            assert (compiled.plan.ram, compiled.plan.arena) == (point.ram, point.arena), name


@pytest.mark.slow
def test_measured() -> None:
    said: list[str] = []
    front = mote.explore(SMALL, target=emulated("cortex-m4"), points=1, say=said.append)
    check(front)
    assert front.measured and said
    for point in (p for p in (*front.points, *front.dominated) if {"least", "fastest"} & set(p.names)):
        run = mote.run(mote.compile(SMALL, target="cortex-m4", **point_settings(point.names[-1])), layers=False)
        assert (run.instructions, run.flash.total, run.ram.stack) == (point.instructions, point.flash, point.stack)


def test_a_front_goes_on_from_its_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "journal"
    front = mote.explore(DIGITS, points=1, measure=False, journal=journal)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:4]) + lines[4][:30])  # killed while it wrote the fourth result
    assert mote.explore(DIGITS, points=1, measure=False, journal=journal).json() == front.json()

    def compiled(*_: object) -> None:
        raise AssertionError("everything is in the journal")

    monkeypatch.setattr("mote.optimize.search.explorer.compile", compiled)
    assert mote.explore(DIGITS, points=1, measure=False, journal=journal).json() == front.json()
    with pytest.raises(InternalError, match="everything is in the journal"):
        mote.explore(DIGITS, points=1, measure=False, journal=journal, optimize="speed")
    for result in (7, "text", [], {}, {**json.loads(lines[1])["result"], "arena": "much"}):
        wrong = json.dumps({**json.loads(lines[1]), "result": result}).encode()
        journal.write_bytes(b"".join([lines[0], wrong, b"\n"]))
        with pytest.raises(MoteError, match="journal: holds a result that no search writes") as refused:
            mote.explore(DIGITS, points=1, measure=False, journal=journal)
        assert "name a new file" in str(refused.value.remedy)


@pytest.mark.slow
def test_a_part_bounds_the_front(tmp_path: Path) -> None:
    part = tmp_path / "part.toml"
    part.write_text('extends = "cortex-m4"\n[[memory]]\nname = "SRAM"\nkind = "ram"\nsize = 900\n')
    front = mote.explore(DIGITS, target=str(part), points=2, measure=False)
    check(front)
    assert front.points[-1].ram <= 900
    part.write_text('extends = "cortex-m4"\n[[memory]]\nname = "SRAM"\nkind = "ram"\nsize = 300\n')
    with pytest.raises(BudgetError):
        mote.explore(DIGITS, target=str(part), measure=False)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("options", [{}, {"ram": 6000}])
def test_a_front_around_a_compiled_model_is_the_same(options: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The default plan is not made again; one within a budget is not the default."""
    settings = make_settings("host", **options)
    compiled = mote.compile(SMALL, settings)
    expected = mote.explore(SMALL, settings, points=1, measure=False)
    made: list[int | None] = []

    def watched(model: object, settings: mote.Settings) -> mote.Compiled:
        made.append(settings.ram)
        return mote.compile(model, settings)

    monkeypatch.setattr("mote.optimize.search.explorer.compile", watched)
    assert explore_around(compiled, settings, points=1) == expected
    assert len([ram for ram in made if ram is None]) == (3 if not options else 4)


def test_a_point_is_not_called_after_bytes_that_it_does_not_take() -> None:
    plan = Planned("", arena=900, static=10, estimate=0, macs=0, constants=0, steps=1, by_rows=0)
    for budgets, name in (([910], "ram-910"), ([9001, 9000], "within-9000"), ([9000, 910], "ram-910")):
        assert _point(_NamedPlan(plan, [f"ram-{b}" for b in budgets]), None).names == (name,)


def test_names() -> None:
    assert point_settings("ram-4388") == point_settings("within-4388") == {"ram": 4388}
    assert point_settings("least") == {"least_ram": True}
    assert point_settings("fastest") == {"optimize": "speed", "ram": UNLIMITED}
    assert point_settings("small") == {"optimize": "size", "least_flash": False}
    assert point_settings("smallest") == {"optimize": "size", "least_flash": True}
    for name in ("", "ram-", "ram-4K", "ram-٣", "Least", "ram-1 ", "ram--1"):
        with pytest.raises(MoteError, match="is not the name of a point"):
            point_settings(name)


@pytest.fixture(scope="module")
def front() -> Front:
    """What this process finds."""
    return mote.explore(SMALL, points=3, measure=False)


@pytest.mark.slow
def test_a_cluster_finds_the_same(front: Front, scheduler: str) -> None:
    assert mote.explore(SMALL, points=3, measure=False, scheduler=scheduler) == front


@pytest.mark.slow
def test_a_cluster_measures_the_same(scheduler: str) -> None:
    options = {"target": emulated("cortex-m4"), "points": 2}
    assert mote.explore(DIGITS, scheduler=scheduler, **options) == mote.explore(DIGITS, **options)


@pytest.mark.slow
def test_processes_find_the_same(front: Front) -> None:
    assert mote.explore(SMALL, points=3, measure=False, workers=1) == front


@pytest.mark.slow
def test_a_budget_that_is_too_small_is_the_same_error_on_a_cluster(tmp_path: Path, scheduler: str) -> None:
    part = tmp_path / "part.toml"
    part.write_text('extends = "cortex-m4"\n[[memory]]\nname = "SRAM"\nkind = "ram"\nsize = 300\n')
    with pytest.raises(BudgetError, match="more than the 300 that are there"):
        mote.explore(DIGITS, target=str(part), measure=False, scheduler=scheduler)


def test_operators_of_users_stay_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "_added", {"mote_mine.h": ""})
    with pytest.raises(MoteError, match=r"of your own \(mote_mine.h\) are known in this process only"):
        mote.explore(DIGITS, points=1, measure=False, workers=2)
    assert mote.explore(DIGITS, points=1, measure=False).points


def test_measuring_on_the_host_is_refused() -> None:
    with pytest.raises(MoteError, match="not counted on the host"):
        mote.explore(DIGITS, measure=True)
