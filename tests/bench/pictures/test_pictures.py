"""Pictures of plans, fronts, costs and accuracy: readable in a browser, whatever they show; and as PNG."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random

import pytest

import mote
from mote.base.errors import MoteError
from mote.bench.pictures import accuracy, costs, plans
from mote.bench.pictures.memory import MemoryMap
from mote.bench.pictures.png import PNG, ZOOM, png
from mote.bench.pictures.svg import colour
from tests.helpers.browser import Browser
from tests.helpers.overlaps import check_picture

MODELS = Path(__file__).parents[3] / "models"


@pytest.mark.parametrize("seed", range(4))
def test_names_of_a_front_do_not_collide(seed: int, browser: Browser) -> None:
    """Even where plans are close to one another."""
    random = Random(seed)
    rams = sorted(random.randrange(3000, 20000) for _ in range(9))
    costs_ = sorted((random.randrange(2_000_000, 2_400_000) for _ in rams), reverse=True)
    both = enumerate(zip(rams, costs_, strict=True))
    dots = [plans.FrontDot(r, c, f"ram-{r}, least", "tip", best=i % 4 > 0, default=i == 3) for i, (r, c) in both]
    assert check_picture(browser, plans.front(dots, "a model for a core", "cycles")) == []


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", ["digits", "keywords"])
def test_the_arena_can_be_read(name: str, browser: Browser) -> None:
    plan = mote.compile(MODELS / f"{name}.tflite", target="cortex-m4").plan
    memory = MemoryMap(plan)
    picture = plans.arena(memory, name)
    assert f"lower bound: {memory.bound:,} bytes" in picture and check_picture(browser, picture) == []


def test_costs_and_accuracy_can_be_read(browser: Browser) -> None:
    bars = [costs.CostBar(f"{i} layer", 10**i, 10**i // 3, "1.0%", "tip") for i in range(8)]
    assert check_picture(browser, costs.costs(bars, "model on core", "11,111,111 cycles")) == []
    assert check_picture(browser, costs.costs([], "model on core", "0 cycles")) == []
    noises = [accuracy.Bar(f"layer {i}", 10.0 * i, f"{10 * i} dB", "tip", i == 2) for i in range(6)]
    assert check_picture(browser, accuracy.noise(noises, "one against the other")) == []
    matrix = [[30 * (i == k) + (i + k) % 3 for k in range(12)] for i in range(12)]
    names = [f"class number {i}" for i in range(12)]
    assert check_picture(browser, accuracy.confusion(matrix, names, "model on data")) == []


@pytest.mark.parametrize("count", [8, 40, 120])
def test_there_are_as_many_colours_as_tensors(count: int) -> None:
    assert len({colour(i) for i in range(count)}) == count


def test_a_png_shows_the_picture() -> None:
    pytest.importorskip("resvg_py")
    drawn = png(costs.costs([costs.CostBar("layer", 9, 3, "100%", "")], "title", "9 cycles"))
    empty = png(costs.costs([], "title", "9 cycles"))
    width, height = struct.unpack(">II", drawn[16:24])
    assert drawn.startswith(PNG) and width > 400 * ZOOM and height > 100 * ZOOM and drawn != empty


def test_what_is_no_svg_is_refused() -> None:
    pytest.importorskip("resvg_py")
    with pytest.raises(MoteError, match="could not be drawn"):
        png("no svg")


def test_the_ending_says_which_format(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    from mote.ui.cli import main

    for name, begin in (("arena.svg", b"<svg"), ("arena.png", PNG)):
        path = tmp_path / name
        assert main(["plan", str(MODELS / "digits.tflite"), "--picture", str(path)]) == 0
        assert path.read_bytes().startswith(begin)
