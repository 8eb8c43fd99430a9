"""SVG of a plan's arena and of a model's Pareto front."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from mote.bench.pictures.memory import Holding, HoldingKind, LifetimeBox, MemoryMap
from mote.bench.pictures.svg import CHARACTER, LINE, Canvas, byte_ticks, colour, ticks
from mote.bench.pictures.text import letters

LEFT, TOP = 76, 64


@dataclass(frozen=True)
class _Frame:
    """Maps values of two axes to page coordinates."""

    x: float
    y: float
    width: float
    height: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]

    def at_x(self, value: float) -> float:
        lo, hi = self.x_range
        return self.x + (value - lo) / (hi - lo) * self.width

    def at_y(self, value: float) -> float:
        lo, hi = self.y_range
        return self.y + (value - lo) / (hi - lo) * self.height


def arena(memory: MemoryMap, title: str) -> str:
    """SVG of the memory map: steps on the x axis, bytes on the y axis, a box per lifetime."""
    plan = memory.plan
    steps = len(plan.steps)
    width = min(1600, max(900, 2 * steps))
    frame = _Frame(LEFT, TOP, width, 440, (-1, steps + 1), (0, max(1, plan.arena)))
    canvas = Canvas(width + LEFT + 24, title)
    canvas.text(LEFT, 24, title, kind="title")
    above = f"arena {plan.arena:,} bytes, {memory.peak:,} live at most, bound {memory.bound:,}; {steps} steps"
    canvas.text(LEFT, 42, above)
    paints = _paints(canvas, memory)
    _arena_axes(canvas, frame, memory)
    for holding, box in sorted(
        ((h, b) for h in memory.holdings for b in h.boxes), key=lambda x: (x[1].first, x[1].offset)
    ):
        start = sum(plan.arenas[: holding.memory])
        x, y = frame.at_x(box.first), frame.at_y(start + box.offset)
        w, h = frame.at_x(box.last + 1) - x, frame.at_y(start + box.end) - y
        paint = paints[id(holding)]
        canvas.rect(x, y, w, h, _tip(holding, box, steps), fill=paint, class_="box")
    for letter, holding in zip(letters(memory), memory.holdings, strict=True):
        _label(canvas, frame, holding, letter, sum(plan.arenas[: holding.memory]))
    bottom = _runs(canvas, frame, memory, paints)
    _marks(canvas, frame, memory)
    return canvas.finish(_legend(canvas, memory, paints, bottom))


def _paints(canvas: Canvas, memory: MemoryMap) -> dict[int, str]:
    """Fill of each holding; scratch is hatched in the colour of its operator's output."""
    tensors = [h for h in memory.holdings if h.role is HoldingKind.TENSOR]
    of = {t: colour(i) for i, h in enumerate(tensors) for c in h.cells[:1] for t in c.tensors}
    paints = {}
    for i, h in enumerate(memory.holdings):
        first = (
            memory.plan.op(memory.plan.steps[h.first]).outputs[0]
            if h.role is not HoldingKind.TENSOR
            else h.cells[0].tensors[0]
        )
        base = of.get(first, "#9aa4ae")
        paints[id(h)] = base if h.role is HoldingKind.TENSOR else canvas.hatching(f"hatch{i}", base)
    return paints


def _arena_axes(canvas: Canvas, frame: _Frame, memory: MemoryMap) -> None:
    right, bottom = frame.x + frame.width, frame.y + frame.height
    start, arenas = 0, memory.plan.arenas
    for i, nbytes in enumerate(arenas):
        for value, name in byte_ticks(0, nbytes, max(1, 12 * nbytes // max(1, sum(arenas)))):
            y = frame.at_y(start + value)
            canvas.line(frame.x, y, right, y, "grid")
            canvas.text(frame.x - 6, y + 4, name, anchor="end")
        if len(arenas) > 1:
            canvas.line(frame.x, frame.at_y(start), right, frame.at_y(start))
            canvas.text(34, frame.at_y(start + nbytes / 2), memory.name(i), anchor="middle", turn=-90)
        start += nbytes
    canvas.text(18, frame.y + frame.height / 2, "offset in the arena (bytes)", anchor="middle", turn=-90)
    canvas.line(frame.x, frame.y, frame.x, bottom)
    canvas.line(frame.x, bottom, right, bottom)


def _runs(canvas: Canvas, frame: _Frame, memory: MemoryMap, paints: dict[int, str]) -> float:
    """Draws the operator of each step below the arena in the colour of its output, with step numbers."""
    plan = memory.plan
    bottom = frame.y + frame.height
    paint = {t: paints[id(h)] for h in memory.holdings if h.role is HoldingKind.TENSOR for t in h.cells[0].tensors}
    start = 0
    for step in range(1, len(plan.steps) + 1):
        if step < len(plan.steps) and plan.steps[step].ops == plan.steps[start].ops:
            continue
        op = plan.op(plan.steps[start])
        span = f"step {start}" if step == start + 1 else f"steps {start} to {step - 1}"
        x, x2 = frame.at_x(start), frame.at_x(step)
        tip = f"{span}: #{plan.number(plan.steps[start])} {op.kind} {op.name}"
        canvas.rect(x, bottom + 3, x2 - x, 9, tip, fill=paint.get(op.outputs[0], "#9aa4ae"), class_="run")
        start = step
    for value in ticks(0, max(0, len(plan.steps) - 1), 16):
        x = frame.at_x(value)
        canvas.line(x, bottom, x, bottom + 15)
        canvas.text(x + 2, bottom + 24, str(value))
    canvas.text(frame.x + frame.width / 2, bottom + 42, "step; the bar shows which operator runs", anchor="middle")
    return bottom + 56


def _marks(canvas: Canvas, frame: _Frame, memory: MemoryMap) -> None:
    """Draws the peak and the lower bound."""
    x = frame.at_x(memory.peak_step + 0.5)
    canvas.line(x, frame.y - 6, x, frame.y + frame.height, "mark", f"the most is live at step {memory.peak_step}")
    left = x > frame.x + frame.width / 2
    note = f"peak: {memory.peak:,} bytes live at step {memory.peak_step}"
    canvas.text(x + (-4 if left else 4), frame.y - 7, note, anchor="end" if left else "start", kind="note")
    if memory.gap and len(memory.plan.arenas) == 1:
        y = frame.at_y(memory.bound)
        canvas.line(frame.x, y, frame.x + frame.width, y, "mark", f"lower bound: {memory.bound:,} bytes")
        canvas.text(frame.x + frame.width - 4, y - 5, f"lower bound: {memory.bound:,} bytes", anchor="end", kind="halo")


def _label(canvas: Canvas, frame: _Frame, holding: Holding, letter: str, start: int) -> None:
    """Draws the label inside a box, abbreviated to fit; `start` is the address at which the holding begins."""
    name = f"{letter} {holding.label}"
    best = (0, 0.0, 0.0, 0.0)
    for offset, end, first, last in _rectangles(holding.boxes):
        w, h = frame.at_x(last + 1) - frame.at_x(first), frame.at_y(end) - frame.at_y(offset)
        fits = min(len(name), int((w - 4) / CHARACTER)) if h >= 11 else 0
        if fits and (fits, w * h) > best[:2]:
            best = (fits, w * h, frame.at_x(first) + w / 2, frame.at_y(start + offset) + h / 2 + 4)
    fits, _, x, y = best
    if fits:
        short = letter if fits < 8 else f"{letter} \u2026{name[-(fits - 3) :]}"
        canvas.text(x, y, name if fits == len(name) else short, anchor="middle", kind="inside")


def _rectangles(boxes: Sequence[LifetimeBox]) -> Iterator[tuple[int, int, int, int]]:
    """Merges overlapping boxes to (offset, end, first step, last step)."""
    ordered = sorted(boxes, key=lambda b: b.offset)
    for i, start in enumerate(ordered):
        end, first, last = start.end, start.first, start.last
        yield start.offset, end, first, last
        for box in ordered[i + 1 :]:
            if box.offset != end or max(first, box.first) > min(last, box.last):
                break
            end, first, last = box.end, max(first, box.first), min(last, box.last)
            yield start.offset, end, first, last


def _tip(holding: Holding, box: LifetimeBox, steps: int) -> str:
    rows = "" if holding.role is not HoldingKind.TENSOR else f" {_rows(box.rows)}"
    size = f"{box.end - box.offset:,} bytes at offset {box.offset:,}"
    return f"{holding.label}{rows}\n{size}\n{span(box.first, box.last, steps)}"


def _rows(rows: tuple[int, ...]) -> str:
    lo, hi = min(rows), max(rows)
    return f"row {lo}" if lo == hi else f"rows {lo} to {hi}"


def span(first: int, last: int, steps: int) -> str:
    """A lifetime as text."""
    begin = "the start" if first < 0 else f"step {first}"
    end = "the end" if last >= steps else f"step {last}"
    return f"{begin} only" if begin == end else f"from {begin} to {end}"


def _legend(canvas: Canvas, memory: MemoryMap, paints: dict[int, str], top: float) -> float:
    """Draws the legend with an entry per tensor; returns the height of the picture."""
    columns = max(1, int((canvas.width - LEFT) // 260))
    named = list(zip(letters(memory), memory.holdings, strict=True))
    shown = [(letter, h) for letter, h in named if h.role is HoldingKind.TENSOR]
    others = [h for h in memory.holdings if h.role is not HoldingKind.TENSOR]
    lines = -(-len(shown) // columns)
    for i, (letter, h) in enumerate(shown):
        x, y = LEFT + i // lines * 260, top + i % lines * LINE
        canvas.rect(x, y, 11, 11, fill=paints[id(h)], stroke="#14181d", stroke_width=0.4)
        name = h.label if len(h.label) <= 24 else "\u2026" + h.label[-23:]
        canvas.text(x + 16, y + 10, f"{letter}  {name}  {h.peak:,}")
    bottom = top + lines * LINE
    if others:
        canvas.rect(LEFT, bottom, 11, 11, fill=paints[id(others[0])], stroke="#14181d", stroke_width=0.4)
        canvas.text(LEFT + 16, bottom + 10, "hatched: working memory and running sums, in their output's colour")
        bottom += LINE
    return bottom + 12


@dataclass(frozen=True)
class FrontDot:
    """A plan to draw: RAM, cost, name and tooltip; whether it is on the front or the default."""

    ram: int
    cost: int
    name: str
    tip: str
    best: bool = True
    default: bool = False


def front(dots: Sequence[FrontDot], title: str, cost_name: str) -> str:
    """SVG of a front: RAM on the x axis, cost on the y axis, from zero; the front is a staircase, the default plan has
    a ring."""
    canvas = Canvas(760, title)
    most = max(d.ram for d in dots), max(d.cost for d in dots)
    frame = _Frame(LEFT + 24, TOP, 760 - LEFT - 140, 340, (0, most[0] * 1.08), (most[1] * 1.08, 0))
    canvas.text(frame.x, 24, title, kind="title")
    canvas.text(
        frame.x, 42, "the front of the least RAM and the fewest cycles; grey: another plan is better; ring: default"
    )
    right, bottom = frame.x + frame.width, frame.y + frame.height
    for value, name in byte_ticks(*frame.x_range, 8):
        canvas.line(frame.at_x(value), frame.y, frame.at_x(value), bottom, "grid")
        canvas.text(frame.at_x(value), bottom + 16, name, anchor="middle")
    for tick in ticks(*frame.y_range[::-1], 8):
        canvas.line(frame.x, frame.at_y(tick), right, frame.at_y(tick), "grid")
        canvas.text(frame.x - 6, frame.at_y(tick) + 4, f"{tick:,}", anchor="end")
    canvas.line(frame.x, frame.y, frame.x, bottom)
    canvas.line(frame.x, bottom, right, bottom)
    canvas.text(frame.x + frame.width / 2, bottom + 36, "RAM: arena + static (bytes)", anchor="middle")
    canvas.text(14, frame.y + frame.height / 2, cost_name, anchor="middle", turn=-90)
    at = [(frame.at_x(d.ram), frame.at_y(d.cost)) for d in dots]
    line = sorted(place for dot, place in zip(dots, at, strict=True) if dot.best)
    corners = [p for (x, y), (x2, _) in pairwise(line) for p in ((x, y), (x2, y))]
    canvas.path([*corners, line[-1]])
    for dot, (x, y) in zip(dots, at, strict=True):
        canvas.circle(x, y, 5, dot.tip, fill=colour(4) if dot.best else "#9aa4ae", stroke="#14181d", class_="point")
        if dot.default:
            canvas.circle(x, y, 9, fill="none", class_="ring")
    for dot, (x, y, anchor) in zip(dots, _names(dots, at, canvas.width), strict=True):
        canvas.text(x, y, dot.name, anchor=anchor, kind="halo")
    return canvas.finish(bottom + 52)


Box = tuple[float, float, float, float]
"""A rectangle (left, top, right, bottom)."""
BESIDE = ((8, -6), (8, 16), (14, 4), *((12, sign * LINE * k) for k in range(1, 9) for sign in (-1, 1)))
"""Candidate offsets of a name from its dot, best first."""


def _names(
    dots: Sequence[FrontDot], at: Sequence[tuple[float, float]], width: float
) -> Iterator[tuple[float, float, str]]:
    """Places names next to dots, as close as possible without overlapping other names or dots."""
    taken: list[Box] = [(x - 7, y - 7, x + 7, y + 7) for x, y in at]
    for dot, (x, y) in zip(dots, at, strict=True):
        length = CHARACTER * len(dot.name)
        places: dict[Box, tuple[float, float, str]] = {}
        for across, down in BESIDE:
            right, left, line = x + across, x - across, y + down
            places[right, line - 11, right + length, line + 3] = (right, line, "start")
            places[left - length, line - 11, left, line + 3] = (left, line, "end")
        free = (box for box in places if box[0] > 0 and box[2] < width and not any(_cross(box, t) for t in taken))
        chosen = next(free, next(iter(places)))
        taken.append(chosen)
        yield places[chosen]


def _cross(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
