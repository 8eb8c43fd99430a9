"""The same results in the same order, wherever they come from and whichever workers die."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mote.base.errors import BudgetError, InternalError, MoteError, UnsupportedError
from mote.base.extras import installing
from mote.optimize.search import Journal, digest, run, running
from mote.optimize.search.work import TRIES
from tests.optimize.search import evaluations

Place = dict[str, object]


@pytest.fixture(params=["here", "processes", "cluster"])
def place(request: pytest.FixtureRequest) -> Place:
    if request.param == "cluster":
        return {"scheduler": request.getfixturevalue("scheduler")}
    return {"workers": 1 if request.param == "processes" else 0}


@pytest.fixture(params=["processes", "cluster"])
def others(request: pytest.FixtureRequest) -> Place:
    """Where work is done by other processes."""
    return {"scheduler": request.getfixturevalue("scheduler")} if request.param == "cluster" else {"workers": 1}


def test_results_come_in_the_order_of_the_items(place: Place) -> None:
    items = [5, 1, 4, 1, 3]
    with running(2, **place) as runner:  # type: ignore[arg-type]
        assert runner.capacity == (2 if "scheduler" in place else 1)
        for _ in range(2):
            assert list(runner.run(evaluations.squared, items)) == [(i, [i, 2 * i * i]) for i in items]
        assert list(runner.run(evaluations.squared, [])) == []


def test_the_number_of_workers_does_not_matter(scheduler: str) -> None:
    found = [list(run(evaluations.squared, range(4), 3, workers=count)) for count in (0, 2)]
    found.append(list(run(evaluations.squared, range(4), 3, workers=1, scheduler=scheduler)))
    assert found[0] == found[1] == found[2]


def test_other_processes_do_the_work(others: Place) -> None:
    found = {pid for _, pid in run(evaluations.process, range(4), **others)}  # type: ignore[arg-type]
    assert os.getpid() not in found


@pytest.mark.quick_cases(1)
def test_an_item_whose_worker_dies_is_evaluated_again(others: Place, tmp_path: Path) -> None:
    found = list(run(evaluations.killed_once, range(6), str(tmp_path), **others))  # type: ignore[arg-type]
    assert found == [(i, i * i) for i in range(6)] and (tmp_path / "killed-3").exists()


@pytest.mark.slow
def test_an_item_that_workers_die_of_is_named(tmp_path: Path) -> None:
    given = []
    with running(str(tmp_path), workers=1) as runner:
        with pytest.raises(MoteError, match=f"number 1: the worker that evaluated it died {TRIES} times"):
            for item, _ in runner.run(evaluations.killed_always, [0, 1, 2], name=lambda item: f"number {item}"):
                given.append(item)
        assert given == [0] and (tmp_path / "killed").read_text() == "x" * TRIES
        assert list(runner.run(evaluations.killed_always, [5, 6])) == [(5, 5), (6, 6)]


@pytest.mark.slow
def test_an_item_that_workers_of_a_cluster_die_of_is_named(tmp_path: Path, scheduler: str) -> None:
    with pytest.raises(MoteError, match="number 1: the worker that evaluated it died"):
        list(
            run(evaluations.killed_always, [1], str(tmp_path), scheduler=scheduler, name=lambda item: f"number {item}")
        )


def test_errors_are_those_of_the_first_item_that_has_one(place: Place) -> None:
    with running(**place) as runner:  # type: ignore[arg-type]
        given = []
        with pytest.raises(BudgetError) as error:
            for item, _ in runner.run(evaluations.refused, [1, 2, 3, 4]):
                given.append(item)
        assert given == [1]
        assert (error.value.reason, error.value.where, error.value.remedy) == ("is too large", "layer 2", "use less")
        with pytest.raises(UnsupportedError, match="nobody knows it") as unsupported:
            list(runner.run(evaluations.refused, [4]))
        assert unsupported.value.layers[0].op == "ODD"
        assert list(runner.run(evaluations.refused, [1])) == [(1, 1)]


def test_a_bug_is_one_wherever_it_happens(others: Place) -> None:
    with pytest.raises(InternalError, match="ZeroDivisionError") as error:
        list(run(evaluations.broken, [1], **others))  # type: ignore[arg-type]
    assert "item // 0" in str(error.value.__cause__)


def test_what_cannot_be_sent_is_said(others: Place) -> None:
    with pytest.raises(MoteError, match="what is searched cannot be sent to workers"):
        list(run(evaluations.squared, [1], lambda: 1, **others))  # type: ignore[arg-type]
    with pytest.raises(InternalError, match="pickle"):
        list(run(evaluations.unsendable, [1], **others))  # type: ignore[arg-type]
    with pytest.raises(InternalError, match="no number"):
        list(run(evaluations.squared, [1], evaluations.Unloadable(), **others))  # type: ignore[arg-type]


def test_nobody_waits_for_what_nobody_wants(others: Place) -> None:
    with running(1, **others) as runner:  # type: ignore[arg-type]
        assert next(iter(runner.run(evaluations.squared, range(50)))) == (0, [0, 0])
        assert list(runner.run(evaluations.squared, [7])) == [(7, [7, 49])]


def test_journals_are_the_same_wherever_the_work_is_done(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    for _ in range(2):
        found = list(run(evaluations.squared, range(4), 2, journal=path, key=lambda i: digest(2, i), **place))  # type: ignore[arg-type]
        assert found == [(i, [i, 2 * i * i]) for i in range(4)]
    assert len(path.read_text().splitlines()) == 5 and digest(2, 3) in Journal(path)


def test_a_script_without_a_main_part_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("from mote.optimize.search import run\nlist(run(max, [1], 2, workers=1))\n")
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "if __name__ == '__main__':" in done.stderr.splitlines()[-1]


def test_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("mote.optimize.search.cluster.CONNECT", 0.2)
    for address in ("tcp://127.0.0.1:1", "nonsense"):
        with pytest.raises(MoteError, match="no scheduler of Dask answers") as error:
            list(run(evaluations.squared, [1], 1, scheduler=address))
        assert address in error.value.where


def test_a_cluster_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("mote.optimize.search.cluster.ARRIVE", 0.2)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        pytest.raises(MoteError, match="no workers"),
    ):
        list(run(evaluations.squared, [1], 1, scheduler=cluster.scheduler_address))


def test_workers_of_another_version_are_refused(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mote.optimize.search.cluster.__version__", "9.9.9")
    with pytest.raises(MoteError, match=r"this is Mote 9\.9\.9, but tcp://.* has Mote ") as error:
        list(run(evaluations.squared, [1], 1, scheduler=scheduler))
    assert "install Mote 9.9.9 for the workers" in error.value.remedy
    monkeypatch.setattr("mote.optimize.search.cluster.Cluster._check_workers", lambda self: None)  # one that came later
    with pytest.raises(MoteError, match=r"this is Mote 9\.9\.9, but a worker has Mote "):
        list(run(evaluations.squared, [1], 1, scheduler=scheduler))


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MoteError, match="a cluster: needs the package distributed") as error:
        list(run(evaluations.squared, [1], 1, scheduler="tcp://127.0.0.1:8786"))
    assert error.value.remedy == installing("cluster")


def test_fewer_workers_than_none() -> None:
    with pytest.raises(MoteError, match="less than 0"):
        list(run(evaluations.squared, [1], 1, workers=-1))


@pytest.mark.slow
def test_items_are_evaluated_when_they_are_asked_for(tmp_path: Path) -> None:
    """In this process: who needs the first result only waits for no other."""
    results: Callable[[], object] = iter(run(evaluations.counted, range(6), str(tmp_path))).__next__
    assert results() == (0, 0) and results() == (1, 1)
    assert (tmp_path / "called").read_text().split() == ["0", "1"]
