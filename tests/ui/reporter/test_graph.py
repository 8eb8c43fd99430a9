"""The graph in the report: all layers, edges, kernels and values; in a browser, folding and selecting."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.compiler.compiled import Compiled
from mote.frontends.data.dataset import dataset
from mote.ir.graph.types import DType
from mote.ui.reporter import html
from mote.ui.reporter.sections.graph import SAMPLES, SECTION, graph, values
from mote.ui.reporter.subject import Subject, Subjects
from mote.ui.reporter.values import histogram
from tests.helpers.browser import Browser
from tests.helpers.flow import Flow
from tests.helpers.look import findings
from tests.helpers.network import Net
from tests.helpers.overlaps import overlaps

MODELS = Path(__file__).parents[3] / "models"
HOSTILE = '</script><script>alert("1")</script>\'"<b>&amp;\u202e\u0000é'


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without other sections, some of which need a compiler."""
    monkeypatch.setattr(html, "SECTIONS", (SECTION,))


@pytest.fixture(scope="module")
def digits() -> Subject:
    return Subject(mote.compile(MODELS / "digits.tflite", target="host"))


def branched() -> bytes:
    """Two inputs, residual blocks, an output in the middle, and a stage of each of two resolutions."""
    net = Net(3)
    x, other = net.input(1, 8, 8, 4), net.input(1, 8, 8, 4)
    x = net.op("ADD", [x, other])
    for _ in range(5):
        y = net.conv(net.conv(x, 4), 4)
        x = net.op("ADD", [x, y])
    middle = x
    for _ in range(5):
        x = net.conv(x, 4)
    x = net.pool(x)
    for _ in range(4):
        x = net.conv(x, 4)
    return net.finish(middle, x)


@pytest.fixture(scope="module")
def long() -> Subject:
    return Subject(mote.compile(branched(), target="host", shrink=False))


def nodes_of(parts: list[Any]) -> list[int]:
    return [node for part in parts for node in (nodes_of(part["parts"]) if isinstance(part, dict) else [part])]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", ["digits", "long"])
def test_every_layer_is_drawn_once_with_all_edges(name: str, request: pytest.FixtureRequest) -> None:
    subject: Subject = request.getfixturevalue(name)
    told, plan = graph(subject), subject.compiled.plan
    assert [node["layer"] for node in told["nodes"] if "layer" in node] == [layer.number for layer in subject.layers]
    assert nodes_of(told["parts"]) == list(range(len(told["nodes"])))
    for key, tensors in (("input", plan.graph.inputs), ("output", plan.graph.outputs)):
        assert sorted(node[key] for node in told["nodes"] if key in node) == sorted(tensors)
    computed = {t for t, tensor in plan.graph.tensors.items() if tensor.data is None}
    read = {(plan.number(steps[0]), t) for op, steps in plan.works for t in op.inputs if t in computed}
    assert {(told["nodes"][to].get("layer"), t) for _, to, t in told["edges"] if "layer" in told["nodes"][to]} == read
    assert all(source < to for source, to, _ in told["edges"])


def test_the_kernel_comes_before_its_alternatives(digits: Subject) -> None:
    for layer, (_, steps) in zip(digits.layers, digits.compiled.plan.works, strict=True):
        options = graph(digits)["layers"][layer.number]["options"]
        assert [chosen for *_, chosen, _ in options] == [1] + [0] * (len(options) - 1)
        assert options[0][0] == steps[0].kernel.name


def test_windows_are_said_in_words(digits: Subject) -> None:
    (operator,) = graph(digits)["layers"]["1"]["operators"]
    assert operator["attributes"]["window"] == "3x3" and operator["attributes"]["stride"] == "2x2"


def test_histograms_count_every_weight(digits: Subject) -> None:
    tensors = digits.compiled.plan.graph.tensors
    told = values(Subjects((digits,)))["constants"]
    assert set(told) == {str(t) for t, tensor in tensors.items() if tensor.data is not None}
    for t, known in ((int(name), known) for name, known in told.items()):
        lo, width, counts = known["histogram"]
        assert sum(counts) == tensors[t].size == known["count"]
        data = tensors[t].data
        assert data is not None and lo <= data.min() and data.max() < lo + width * len(counts)


@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT32, DType.FLOAT32, DType.UINT8])
def test_bars_hold_what_lies_in_them(digits: Subject, dtype: DType) -> None:
    tensor = replace(digits.compiled.plan.graph.tensors[0], dtype=dtype)
    drawn = np.random.default_rng(1).normal(0, 40, 999).clip(0, 127).astype(dtype.numpy)
    made = histogram(tensor, drawn)
    edges = made.lo + made.width * np.arange(len(made.counts) + 1)
    assert sum(made.counts) == drawn.size and len(made.counts) <= 64
    expected = [int(((drawn >= a) & (drawn < b)).sum()) for a, b in pairwise(edges)]
    assert list(made.counts[:-1]) == expected[:-1]


def test_activations_are_those_of_the_samples(digits: Subject) -> None:
    data = dataset(MODELS / "digits_test.npz", labelled=True)
    told = values(Subjects((digits,), data))["activations"]
    plan = digits.compiled.plan
    for op in plan.graph.ops:
        known = told[str(op.outputs[0])]
        assert sum(known["histogram"][2]) == SAMPLES * plan.graph.tensors[op.outputs[0]].size
        assert 0 <= known["saturated"] <= 1
    assert told[str(plan.graph.outputs[0])]["high"] > 0, "a class that is certain is the highest code"


def test_bodies_of_control_flow_are_drawn(browser: Browser) -> None:
    flow = Flow(1)
    flag, x = flow.flag(1), flow.input(1, 4)
    bodies = (
        lambda f, a: [f.op("ADD", [a[0], a[0]], quant=f.quants[a[0]])],
        lambda f, a: [f.fully_connected(a[0], 4, quant=f.quants[a[0]])],
    )
    y = flow.choose(flag, [x], bodies[0], bodies[1], [flow.like(x)])
    subject = Subject(mote.compile(flow.finish(*y), target="host", shrink=False))
    told = graph(subject)
    (number,) = (number for number, known in told["layers"].items() if known["bodies"])
    then, otherwise = told["layers"][number]["bodies"]
    assert (then["title"], otherwise["title"]) == ("then", "else")
    assert [node["kind"] for node in then["nodes"]] == ["Input", "TABLE", "Output"]
    assert [node["kind"] for node in otherwise["nodes"]] == ["Input", "FULLY_CONNECTED", "Output"]
    assert then["edges"] == otherwise["edges"] == [[0, 1], [1, 2]]
    with browser.open(html.page(html.report_data(Subjects((subject,))))) as page:
        page.evaluate(f"report.page.select('{number}')")
        assert page.evaluate("document.querySelectorAll('#graph .graph-detail .card').length") == 6
        assert findings(page, keyboard=False) == []


def renamed(compiled: Compiled, name: str) -> Compiled:
    """The model with a name for all of its operators and tensors."""
    g = compiled.plan.graph
    tensors = {i: replace(t, name=name) for i, t in g.tensors.items()}
    hostile = replace(g, tensors=tensors, ops=tuple(op.with_(name=name) for op in g.ops), layers={})
    return replace(compiled, plan=replace(compiled.plan, graph=hostile))


def test_names_are_text(digits: Subject, browser: Browser) -> None:
    subject = Subject(renamed(digits.compiled, HOSTILE))
    with browser.open(html.page(html.report_data(Subjects((subject,))))) as page:
        page.click('#graph [data-layer="2"]')
        assert HOSTILE[:20] in page.evaluate("document.querySelector('#graph .graph-detail').textContent")
        assert page.errors == []


def test_blocks_unfold_and_layers_are_selected(long: Subject, browser: Browser) -> None:
    with browser.open(html.page(html.report_data(Subjects((long,))))) as page:
        cards = "document.querySelectorAll('#graph .graph-view [data-layer]').length"
        folded = page.evaluate(cards)
        assert folded < len(long.layers)
        page.click("#graph .folded")
        assert page.evaluate(cards) > folded
        page.click("#graph .header")
        assert page.evaluate(cards) == folded
        page.evaluate(
            "[...document.querySelectorAll('#graph button')].find((b) => b.textContent === 'Unfold all').click()"
        )
        assert page.evaluate(cards) == len(long.layers)
        assert overlaps(page, "#graph") == []
        page.evaluate(
            "[...document.querySelectorAll('#graph button')].find((b) => b.textContent === 'Fold all').click()"
        )
        last = long.layers[-2].number
        page.evaluate(f"report.page.select('{last}')")
        assert page.evaluate(f"document.querySelector('#graph [data-layer=\"{last}\"]').classList.contains('selected')")
        assert page.evaluate("document.querySelector('#graph .graph-detail h3').textContent").startswith(last)
        page.click("#graph [aria-label='Fold all blocks']")
        assert page.evaluate("document.querySelectorAll('#graph .holds').length") == 1
        assert page.errors == []


def test_activations_are_drawn(digits: Subject, browser: Browser) -> None:
    data = dataset(MODELS / "digits_test.npz", labelled=True)
    with browser.open(html.page(html.report_data(Subjects((digits,), data))), width=320) as page:
        page.evaluate("report.page.select('3')")
        assert "saturated" in page.evaluate("document.querySelector('#graph .graph-detail').textContent")
        assert findings(page, keyboard=False) == []


def test_the_keyboard_zooms_and_walks(digits: Subject, browser: Browser) -> None:
    with browser.open(html.page(html.report_data(Subjects((digits,))))) as page:
        wide = "Number(document.querySelector('#graph .graph-view svg').getAttribute('width'))"
        before = page.evaluate(wide)
        page.evaluate("document.querySelector('#graph [data-layer=\"2\"]').focus()")
        page.key("+")
        assert page.evaluate(wide) == pytest.approx(1.25 * before)
        page.key("ArrowDown")
        page.key("Enter")
        assert page.evaluate("report.page.layer") == "3"
        page.click("#graph [aria-label='Zoom to natural size']")
        assert page.evaluate(wide) == pytest.approx(before)


RANDOM = """(seed) => {
    let state = seed;
    const random = (n) => {
        state = (state * 1103515245 + 12345) % 2147483648;
        return Math.floor((state / 2147483648) * n);
    };
    const nodes = Array.from({ length: 1 + random(24) }, () => ({ width: 20 + random(200), height: 10 + random(90) }));
    const edges = new Map();
    nodes.forEach((_, to) => {
        for (let k = to ? random(3) : 0; k > 0; k--) {
            const from = random(to);
            edges.set(`${from} ${to}`, [from, to]);
        }
    });
    const ends = [...edges.values()];
    const { x, y, width, height, lines } = layered(nodes, ends);
    const boxes = nodes.map((n, i) => [x[i] - n.width / 2, y[i], x[i] + n.width / 2, y[i] + n.height]);
    const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
    const bad = [];
    boxes.forEach((a, i) => {
        if (a[0] < -0.1 || a[1] < -0.1 || a[2] > width + 0.1 || a[3] > height + 0.1) bad.push(`${i} is outside`);
        boxes.forEach((b, j) => { if (i < j && meet(a, b)) bad.push(`${i} is on ${j}`); });
    });
    ends.forEach(([from, to], e) => {
        const line = lines[e], end = line[line.length - 1];
        if (line[0][1] !== boxes[from][3] || end[1] !== boxes[to][1]) bad.push(`line ${e} ends elsewhere`);
        if (line.some(([, py], k) => k && py < line[k - 1][1])) bad.push(`line ${e} goes up`);
        for (let k = 1; k < line.length; k++) {
            const [[ax, ay], [bx, by]] = [line[k - 1], line[k]];
            boxes.forEach((box, i) => {
                if (i === from || i === to || ax !== bx || !meet([ax, ay, bx, by], box)) return;
                bad.push(`line ${e} crosses ${i}`);
            });
        }
    });
    return bad;
}"""


def test_layered_drawings_overlap_nowhere(digits: Subject, browser: Browser) -> None:
    with browser.open(html.page(html.report_data(Subjects((digits,))))) as page:
        findings = page.evaluate(f"(() => Array.from({{length: 200}}, (_, seed) => ({RANDOM})(seed)).flat())()")
    assert findings == []
