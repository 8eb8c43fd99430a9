"""Checks of parameters admit what packers make, and nothing that breaks a kernel: see `rooms.py`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from mote import frontends
from tests.compiler.kernels.rooms import Case, Collection, Rooms
from tests.helpers.support import examples, fuzzed

MODELS = Path(__file__).parents[3] / "models"
MUTANTS = examples(150)
"""Of each call of a kernel; `make fuzz` tries many more, of the layers of all operators' tests."""
FEW = {"avg_pool_s8", "avg_pool_add_s8", "depthwise_s8", "softmax_s8"}
"""Kernels of few headers: compiling all of them takes longer than their mutants do."""


@cache
def of_bundled_models() -> tuple[Case, ...]:
    """A call of each kernel that layers of the bundled models could have on a core without extensions."""
    collection = Collection(each=1)
    for path in sorted(MODELS.glob("*.tflite")):
        collection.add(frontends.read(frontends.source_of(path)).partial())
    return tuple(collection.cases)


@fuzzed
def test_what_is_admitted_breaks_nothing(tmp_path: Path) -> None:
    nothing_breaks(of_bundled_models(), tmp_path)


def test_what_is_admitted_breaks_none_of_a_few(tmp_path: Path) -> None:
    few = [case for case in of_bundled_models() if case.kernel.name in FEW]
    assert {case.kernel.name for case in few} == FEW
    nothing_breaks(few, tmp_path)


def nothing_breaks(cases: Sequence[Case], folder: Path) -> None:
    rooms = Rooms(cases, folder)
    findings = rooms.run(MUTANTS)
    print(f"{rooms.tried} mutants tried, {sum(rooms.admitted.values())} of them admitted and run")
    assert not findings, "\n".join(map(str, findings))
    assert min(rooms.admitted.values()) > MUTANTS / 20, rooms.admitted


def test_what_would_break_a_kernel_is_found_where_nothing_checks_it(tmp_path: Path) -> None:
    pool = [case for case in of_bundled_models() if case.kernel.name == "avg_pool_s8"]
    findings = Rooms(pool, tmp_path, unchecked=True).run(MUTANTS)
    assert len(findings) == len(pool)
