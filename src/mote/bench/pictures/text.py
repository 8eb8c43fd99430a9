"""Charts in plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from string import ascii_lowercase, ascii_uppercase, digits

from mote.bench.pictures.memory import Holding, HoldingKind, MemoryMap
from mote.bench.pictures.svg import ticks

LETTERS = ascii_uppercase + ascii_lowercase + digits
SCRATCH, SUMS, FREE = "#", "+", "."


def letters(memory: MemoryMap) -> list[str]:
    """Letter of each holding in the text map; letters repeat after the last one."""
    characters = []
    tensors = 0
    for h in memory.holdings:
        if h.role is HoldingKind.TENSOR:
            characters.append(LETTERS[tensors % len(LETTERS)])
            tensors += 1
        else:
            characters.append(SCRATCH if h.role is HoldingKind.SCRATCH else SUMS)
    return characters


def arena_maps(memory: MemoryMap, width: int = 100, height: int = 22) -> str:
    """Text maps of all arenas: steps across, bytes down, showing the holding that covers most of each cell."""
    arenas = memory.plan.arenas
    maps = []
    for i, nbytes in enumerate(arenas):
        lines = max(4, height * nbytes // max(1, sum(arenas)))
        head = [f"in {memory.name(i)}:"] if len(arenas) > 1 else []
        maps.append("\n".join([*head, _arena_map(memory, i, width, lines)]))
    return "\n".join(maps)


def _arena_map(memory: MemoryMap, number: int, width: int, height: int) -> str:
    arena, steps = memory.plan.arenas[number], len(memory.plan.steps) + 2
    axis = len(f"{arena:,}") + 2
    columns = min(width - axis - 1, steps * max(1, (width - axis - 1) // steps))
    lines = max(1, min(height - 2, arena))
    area: list[list[dict[str, float]]] = [[{} for _ in range(columns)] for _ in range(lines)]
    for h, letter in zip(memory.holdings, letters(memory), strict=True):
        if h.memory == number:
            _fill(area, h, letter, columns / steps, lines / max(1, arena))
    full = 0.5 * arena / max(1, lines) * steps / columns
    grid = [
        "".join(max(c, key=lambda x: c[x]) if c and sum(c.values()) >= full else FREE for c in line) for line in area
    ]
    labelled = [f"{round(i * arena / lines):,}" if i % 4 == 0 else "" for i in range(lines)]
    body = [f"{label.rjust(axis - 1)} |{line}" for label, line in zip(labelled, grid, strict=True)]
    return "\n".join([*body, f"{f'{arena:,}'.rjust(axis - 1)} +" + _step_axis(columns, steps)])


def _fill(area: list[list[dict[str, float]]], h: Holding, letter: str, per_step: float, per_byte: float) -> None:
    for box in h.boxes:
        left, right = (box.first + 1) * per_step, (box.last + 2) * per_step
        for y, tall in _covered(box.offset * per_byte, box.end * per_byte):
            for x, wide in _covered(left, right):
                if y < len(area) and x < len(area[y]):
                    place = area[y][x]
                    place[letter] = place.get(letter, 0.0) + tall / per_byte * wide / per_step


def _covered(lo: float, hi: float) -> Iterator[tuple[int, float]]:
    """Unit cells that lo..hi overlaps, with the overlap."""
    i = int(lo)
    while i < hi:
        part = min(hi, i + 1) - max(lo, i)
        if part > 1e-9:
            yield i, part
        i += 1


def _step_axis(columns: int, steps: int) -> str:
    """Step numbers below the columns where those steps begin."""
    line = ["-"] * columns
    for step in ticks(0, steps - 3, columns // 8):
        at, text = round((step + 1) * columns / steps), str(step)
        if at + len(text) <= columns:
            line[at : at + len(text)] = text
    return "".join(line)


def bar(value: float, largest: float, width: int = 24) -> str:
    """A text bar proportional to a value, padded to the width of the largest."""
    return ("#" * _scaled(value, 0, largest, width)).ljust(width)


def step_chart(
    points: Sequence[tuple[float, float]], marks: Sequence[str], *, x_name: str, y_name: str, width: int = 72
) -> str:
    """Text chart of points (x rising, y falling) joined by a staircase."""
    lines, axis = 12, max(len(f"{y:,.0f}") for _, y in points)
    columns = width - axis - 3
    xs, ys = [p[0] for p in points], [p[1] for p in points]

    def column(x: float) -> int:
        return _scaled(x, min(xs), max(xs), columns - 1)

    def line(y: float) -> int:
        return lines - 1 - _scaled(y, min(ys), max(ys), lines - 1)

    grid = [[" "] * columns for _ in range(lines)]
    for (x, y), (x2, y2) in pairwise(points):
        for c in range(column(x), column(x2)):
            grid[line(y)][c] = "-"
        for r in range(line(y), line(y2)):
            grid[r][column(x2)] = "|"
    for (x, y), mark in zip(points, marks, strict=False):
        grid[line(y)][column(x)] = mark
    labels = {line(y): f"{y:,.0f}" for y in (min(ys), max(ys))}
    body = [f"{labels.get(i, '').rjust(axis)} |{''.join(row)}".rstrip() for i, row in enumerate(grid)]
    low, high = f"{min(xs):,.0f}", f"{max(xs):,.0f}"
    ends = low if low == high else low + high.rjust(columns - len(low))
    return "\n".join([y_name, *body, f"{'':{axis}} +{'-' * columns}", f"{'':{axis}}  {ends}  {x_name}"])


def _scaled(value: float, lo: float, hi: float, size: int) -> int:
    return round((value - lo) / (hi - lo) * size) if hi > lo else 0
