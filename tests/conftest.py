"""Property tests try the same examples every time, so that a red test is a change's fault; `make fuzz` tries others.
One value in twenty may be a constant of a module that is loaded: Hypothesis looks for these, and cannot be told not to,
which takes seven CPU seconds of a process where `.hypothesis` is empty, and half a second later.

An example takes seconds of a C compiler, and a failing one would be made smaller in hundreds of tries: `make test`
shows it as it was found, `make fuzz` makes it small.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two threads of BLAS wait for one another for longer than they compute

import pytest
from hypothesis import Phase, settings

from mote.compiler.stages import session
from mote.hardware.toolchain import host
from mote.optimize.search import cluster as search_cluster
from mote.ui.cli import GARBAGE
from tests.compiler.kernels import rooms_seen
from tests.helpers import kernels_seen, operators_seen
from tests.helpers.browser import NAMES, Browser, executable
from tests.helpers.forgetting import forgetting
from tests.suites import mark_slow_cases

if folder := os.environ.get(operators_seen.RECORD):
    operators_seen.record(Path(folder))
if folder := os.environ.get(kernels_seen.RECORD):
    kernels_seen.note(Path(folder))
if folder := os.environ.get(rooms_seen.RECORD):
    rooms_seen.record(Path(folder))


def pytest_configure(config: pytest.Config) -> None:
    gc.set_threshold(GARBAGE)
    session().disk = False
    config.stash[COLLECTED] = set()


COLLECTED = pytest.StashKey[set[Path]]()
"""The files that tests were collected from, before any were deselected, and those that want an absent package."""


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    report: Any = yield
    if report.skipped:
        collector.config.stash[COLLECTED].add(collector.path)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[COLLECTED].update(item.path for item in items)
    mark_slow_cases(items)


AS_FOUND = [phase for phase in Phase if phase not in (Phase.shrink, Phase.explain)]
UNTIMED = settings(deadline=None, report_multiple_bugs=False)
"""No test may fail because a machine is slow or busy."""
settings.register_profile("repeatable", UNTIMED, derandomize=True, phases=AS_FOUND)
settings.register_profile("fuzz", UNTIMED, derandomize=False, print_blob=True)
settings.load_profile("fuzz" if os.environ.get("MOTE_FUZZ") else "repeatable")


def pytest_collection_finish() -> None:
    """What collecting 5,000 tests makes stays to the end: the collector of garbage need not look at it every time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _wide_terminal() -> Iterator[None]:
    """Lines are not folded where tests look for sentences; those of the width of lines set their own."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("COLUMNS", "1000")
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_wait_for_the_disk() -> Iterator[None]:
    """What tests write need not survive a failure of power."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda opened: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _libraries_that_build_soon() -> Iterator[None]:
    """Libraries of models for this computer are for a few inferences in most tests."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(host, "FLAGS", (*host.FLAGS, "-O1"))
        yield


QUIET_CLUSTER = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}
"""A cluster of Dask that waits looks at itself a hundred times a second, unless it is told not to."""


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of the scheduler of a cluster of two processes, which ends with the module: a cluster that waits
    takes a tenth of a core."""
    distributed = pytest.importorskip("distributed")
    with (
        pytest.MonkeyPatch.context() as patched,
        import_module("dask").config.set(QUIET_CLUSTER),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs="CRITICAL"
        ) as cluster,
    ):
        patched.setattr(search_cluster, "CONNECT", 300.0)  # seconds: other processes may keep the machine busy
        patched.setattr(search_cluster, "ARRIVE", 300.0)
        yield cluster.scheduler_address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The headless browser of this session."""
    if not (command := executable()):
        pytest.skip(f"no browser: {NAMES[0]} is not installed")
    with Browser(command) as started:
        yield started


class ForgettingPatch(pytest.MonkeyPatch):  # type: ignore[misc]
    """Forgets the models that were read and the kernels that were packed before the first change, whatever it is of."""

    def __init__(self) -> None:
        super().__init__()
        self.own = ExitStack()
        self.changed = False

    def _changes(self) -> None:
        if not self.changed:
            self.changed = True
            self.own.enter_context(forgetting())

    def setattr(self, *arguments: Any, **options: Any) -> None:
        self._changes()
        super().setattr(*arguments, **options)

    def delattr(self, *arguments: Any, **options: Any) -> None:
        self._changes()
        super().delattr(*arguments, **options)

    def setitem(self, *arguments: Any, **options: Any) -> None:
        """Variables of the environment are set by it too."""
        self._changes()
        super().setitem(*arguments, **options)

    def delitem(self, *arguments: Any, **options: Any) -> None:
        self._changes()
        super().delitem(*arguments, **options)


@pytest.fixture
def monkeypatch() -> Iterator[pytest.MonkeyPatch]:
    """A test that changes the compiler sees no model that was read, nor kernels that were packed, without the change;
    and no other test sees those of the changed one."""
    patched = ForgettingPatch()
    yield patched
    patched.undo()
    patched.own.close()
