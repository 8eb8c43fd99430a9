"""`mote plan` says who computes what, and why; pins that cannot be have errors that say why, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.compiler.kernels.contract import Refusal
from mote.compiler.offload.backends import GENERATORS
from mote.compiler.offload.contract import SCRATCH, Artifact, Generator, Invocation, Pointer
from mote.frontends.tflite.writer import Writer
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op
from mote.ir.graph.region import joined
from mote.ui.cli import main
from mote.ui.cli.commands.plan import layer_ranges

COUNT = 200


def model() -> bytes:
    """Four sums, one after another."""
    w = Writer("functions")
    x = w.input("x", (1, COUNT), "int8", 0.05, 3)
    for i in range(4):
        y = w.tensor(f"y{i}", (1, COUNT), "int8", 0.05, 3)
        w.op("ADD", [x, w.const(f"c{i}", np.arange(COUNT).astype(np.int8)[None], 0.1, 0)], [y])
        x = y
    w.output(x)
    return w.finish()


class Pairs(Generator):
    """Claims pairs of operators; it does not like the last two, and has alternatives."""

    name = "pairs"
    cost = 10.0

    def claims(self, graph: Graph, target: Target) -> Iterable[Op]:
        return [joined(graph, graph.ops[n : n + 2]) for n in range(len(graph.ops) - 1)]

    def split(self, region: Op, graph: Graph, target: Target) -> Iterable[Op]:
        return ()

    def build(self, region: Op, graph: Graph, target: Target) -> list[Artifact] | Refusal:
        (x, *_), y = [t for _, t in region.computed(graph)], region.outputs[0]
        if y in graph.outputs:
            return Refusal("it writes no outputs")
        return [
            Artifact(
                calls=(Invocation("pair", (Pointer(x), Pointer(y), *([Pointer(SCRATCH)] if scratch else []))),),
                cost=self.cost + (not scratch),
                header="pair.h",
                files={"pair.h": "#include <stdint.h>\nvoid pair(const int8_t *x, int8_t *y, ...);\n"},
                scratch=scratch,
                variant=variant,
            )
            for variant, scratch in (("fast", 64), ("small", 0))
        ]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    before = dict(GENERATORS)
    mote.register_generator(Pairs())
    yield
    GENERATORS.clear()
    GENERATORS.update(before)


def regions(**options: Any) -> list[tuple[str, tuple[str, ...], bool, str]]:
    made = mote.plan(model(), backend="pairs", **options)
    assert made.json()["regions"] == [vars(r) | {"layers": list(r.layers)} for r in made.regions]
    return [(r.variant, r.layers, r.taken, r.why) for r in made.regions]


def test_reasons() -> None:
    """A pair that is taken, one that overlaps with it, and one that the generator does not build."""
    taken, overlapping, refused = regions(optimize="speed")
    assert taken[:3] == ("fast", ("0", "1"), True) and taken[3].startswith("saves ")
    assert overlapping[:3] == ("fast", ("1", "2"), False) and "layer 0+1 is computed by an external" in overlapping[3]
    assert refused == ("", ("2", "3"), False, "it writes no outputs")
    (region, *_) = mote.plan(model(), backend="pairs", optimize="speed").regions
    assert region.cost == 10 and region.own_cost is not None and region.own_cost > 100 and region.ram == 2 * COUNT + 64
    assert mote.plan(model()).regions == []


def test_reasons_of_cost_budget_and_pins(monkeypatch: pytest.MonkeyPatch) -> None:
    assert regions(ram=300)[0][2:] == (False, "takes 464 bytes of RAM, and there are 300")
    monkeypatch.setattr(Pairs, "cost", 1e9)
    mote.register_generator(Pairs())
    assert "Mote's kernels take 999,9" in regions()[0][3]
    pinned = regions(kernels={"0": "pairs[variant=small]"})
    assert pinned[0] == ("small", ("0", "1"), True, "pinned")


def test_pins_that_cannot_be() -> None:
    for pins, why in (
        ({"3": "pairs"}, "layer 'y3' has no kernel 'pairs'.*pairs: it writes no outputs"),
        ({"0": "pairs[variant=huge]"}, r"pairs has the knobs variant=fast\|small"),
    ):
        with pytest.raises(MoteError, match=f"(?s){why}"):
            mote.plan(model(), backend="pairs", kernels=pins)
    with pytest.raises(MoteError, match=r"(?s)has no kernel 'pairs'.*--backend pairs"):
        mote.plan(model(), kernels={"0": "pairs"})


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "functions.tflite").write_bytes(model())
    assert main(["plan", str(tmp_path / "functions.tflite"), "--backend", "pairs", "--optimize", "speed"]) == 0
    text = capsys.readouterr().out
    assert "pairs[variant=fast] computes layer 0-1: 10 " in text and "464 bytes of RAM: saves " in text
    assert "pairs does not compute layer 2-3: it writes no outputs" in text


def test_ranges_of_layers() -> None:
    assert layer_ranges(["0", "1", "2", "5", "7", "8", "9.1", "10"]) == "0-2+5+7-8+9.1+10"
