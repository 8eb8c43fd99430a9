"""The pipeline reports what passes removed; every pass has its own test."""

from __future__ import annotations

from pathlib import Path

from mote.compiler.passes import pipeline
from mote.compiler.passes.pipeline import optimize
from tests.compiler.passes.before_after import graph, unchanged
from tests.helpers.network import Net


def test_pipeline_reports_what_it_removed() -> None:
    net = Net()
    x = net.conv(net.pad(net.input(1, 5, 6, 2), (0, 0), (1, 1), (1, 1), (0, 0)), 4, padding="VALID")
    before = graph(net, net.moved("RELU", [x]))
    after, savings = optimize(before)
    assert [(s.name, s.removed, s.detail) for s in savings] == [
        ("fuse pads", 1, "1 PAD"),
        ("fuse activations", 1, "1 RELU"),
    ]
    unchanged(before, after)


def test_every_pass_has_its_own_test() -> None:
    passes = [path for path in Path(pipeline.__file__).parent.rglob("*.py") if "\ndef run(" in path.read_text()]
    assert len(passes) > 25
    assert not [path.name for path in passes if not (Path(__file__).parent / f"test_{path.name}").exists()]
