"""What README.md and docs/measure/comparison.md say of the benchmarks, and the README's picture, from results.md.

    python benchmarks/summaries.py      # write them; compare.py --write does so too

Nothing is measured: results.md has Mote's numbers, anchors.json those of other engines.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

from anchors import TFLM, TINYENGINE, load

HERE = Path(__file__).parent
PICTURE = HERE.parent / "docs" / "assets" / "benchmark.svg"
WAITING = "cycles, built for flash that waits"
SETTINGS = ("balanced", "speed", "size")
LEFT, PANEL, GAP, TOP, ROW, BAR = 78, 232, 22, 74, 27, 15
"""Pixels: names of models, width of a panel, between two panels, above the first bar, from bar to bar, a bar."""
STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.small { font-size: 12px; fill: #59636e }
.theirs { fill: #d1d9e0 }
.mine { fill: #4451b5 }
.axis { stroke: #59636e }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .small { fill: #b1bac4 }
  .theirs { fill: #3d444d }
  .mine { fill: #8c9eff }
  .axis { stroke: #9198a1 }
}
"""


class Row(NamedTuple):
    """A model on a Cortex-M4 with one setting."""

    model: str
    instructions: int
    waiting: int
    ram: int
    flash: int
    exact: str


Cells = dict[str, dict[str, str]]
"""By model and heading; the second of two headings that are called alike has a 2 behind it."""


def cells(table: str) -> Cells:
    """A Markdown table by the names of its rows and columns."""
    lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table.splitlines()]
    head: list[str] = []
    for name in lines[0]:
        head.append(f"{name}2" if name in head else name)
    return {line[0]: dict(zip(head, line, strict=True)) for line in lines[2:]}


def rows(table: str) -> dict[str, Row]:
    """The numbers of a table of a Cortex-M4, by model."""

    def number(text: str) -> int:
        return sum(int(part.replace(",", "")) for part in text.split(" + "))

    return {
        model: Row(
            model,
            number(cell["instructions"]),
            number(cell[WAITING]),
            number(cell["RAM"]),
            number(cell["flash: code + constants"]),
            cell["exact"],
        )
        for model, cell in cells(table).items()
    }


def markdown(head: list[str], lines: list[list[str]], words: int = 1) -> str:
    """A Markdown table whose first columns are words and whose others are numbers."""
    first, *others = (f"| {' | '.join(line)} |" for line in [head, *lines])
    return "\n".join([first, f"|{'---|' * words}{'--:|' * (len(head) - words)}", *others])


def derived(results: dict[str, str]) -> dict[str, str]:
    """The tables that repeat parts of others, by the name of their mark."""
    return {"m4-summary": summary(results), "engines-cycles": published(results), "engines-memory": measured(results)}


def summary(results: dict[str, str]) -> str:
    """The README's table: the columns of the default setting that fit a page."""
    lines = []
    for model, cell in cells(results["m4-balanced"]).items():
        rival = cell[TFLM] if cell[TFLM] != "-" else cell[TINYENGINE].replace("(", f"({TINYENGINE}, ")
        mine = rows(results["m4-balanced"])[model]
        memory = [cell["RAM"], cell["others"], f"{mine.flash:,}", cell["others2"]]
        speed = [cell["instructions"], rival, cell[WAITING], cell["best published"]]
        lines.append([model, *speed, *memory, mine.exact.partition(" ")[0]])
    head = ["model", "instructions", TFLM, "cycles, slow flash", "best published", "RAM", "others", "flash", "others"]
    return markdown([*head, "exact"], lines)


def published(results: dict[str, str]) -> str:
    """Million cycles of each engine on an STM32L4R5: others as they were published, Mote's as they are modelled."""
    anchors = [anchor for anchor in load() if anchor.published]
    engines = list(dict.fromkeys(engine for anchor in anchors for engine in anchor.published["cortex-m4"]))
    lines = [
        [engine, "measured", *(millions(anchor.published["cortex-m4"].get(engine)) for anchor in anchors)]
        for engine in engines
    ]
    for setting in SETTINGS:
        mine = rows(results[f"m4-{setting}"])
        cycles = (millions(mine[anchor.name].waiting) for anchor in anchors)
        lines.append([f"Mote, `--optimize {setting}`", "modelled", *cycles])
    return markdown(["engine", "cycles are", *(anchor.name for anchor in anchors)], lines, words=2)


def measured(results: dict[str, str]) -> str:
    """Instructions, RAM and flash of the engines that were measured as Mote is."""
    lines = []
    for anchor in load():
        for engine, took in anchor.engines.items():
            flash = took["code"] + took["model"]
            instructions = took["instructions"]["cortex-m4"]
            lines.append([anchor.name, engine, f"{instructions:,}", f"{took['ram']:,}", f"{flash:,}"])
        for setting in SETTINGS:
            mine = rows(results[f"m4-{setting}"])[anchor.name]
            numbers = (f"{number:,}" for number in (mine.instructions, mine.ram, mine.flash))
            lines.append([anchor.name, f"Mote, `{setting}`", *numbers])
    return markdown(["model", "engine", "instructions", "RAM, bytes", "flash, bytes"], lines, words=2)


def millions(cycles: int | None) -> str:
    return f"{cycles / 1e6:.2f}" if cycles is not None else "-"


def picture(results: dict[str, str]) -> str:
    """Bars of Mote's instructions, RAM and flash, as shares of what the other engine takes for the same model."""
    mine, others = rows(results["m4-balanced"]), {anchor.name: anchor.rival for anchor in load()}
    panels = ("instructions", "RAM", "flash")
    width, height = LEFT + len(panels) * (PANEL + GAP), TOP + ROW * len(mine) + 30
    parts = [
        f'<text class="title" x="8" y="24">{"One inference on a Cortex-M4, against " + TFLM}</text>',
        '<text class="small" x="8" y="43">grey: the other engine, 100%; blue: Mote, exact on every tensor</text>',
    ]
    for y, name in enumerate(mine):
        star = "*" if others[name][0] == TINYENGINE else ""
        parts.append(f'<text x="8" y="{TOP + ROW * y + 12}">{escape(name)}{star}</text>')
    for n, panel in enumerate(panels):
        x = LEFT + n * (PANEL + GAP)
        parts.append(f'<text x="{x}" y="{TOP - 9}">{panel}</text>')
        for y, row in enumerate(mine.values()):
            took = others[row.model][1]
            theirs = (took["instructions"]["cortex-m4"], took["ram"], took["code"] + took["model"])[n]
            parts += bars(x, TOP + ROW * y, (row.instructions, row.ram, row.flash)[n], theirs)
        parts.append(f'<path class="axis" d="M{x}.5 {TOP - 4}v{ROW * len(mine)}"/>')
    note = f"* against {TINYENGINE}; RAM is arena + static, flash code + constants, in bytes"
    parts.append(f'<text class="small" x="8" y="{height - 10}">{note}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">'
    said = "; ".join(f"{name} {row.instructions / instructions_of(others[name][1]):.0%}" for name, row in mine.items())
    title = f"<title>Mote takes of the other engine's instructions: {said}</title>"
    return "\n".join([head, title, f"<style>{STYLE}</style>", *parts, "</svg>", ""])


def instructions_of(engine: dict[str, dict[str, int]]) -> int:
    return engine["instructions"]["cortex-m4"]


def bars(x: int, y: int, mine: int, theirs: int) -> list[str]:
    """Mote's bar before that of another engine, whose length is the scale."""
    full = PANEL * 0.72  # the rest is for percentages, and for what takes more
    length = min(full * mine / theirs, PANEL)
    tip = f"<title>{mine:,} against {theirs:,}</title>"
    return [
        f'<rect class="theirs" x="{x}" y="{y}" width="{full:.1f}" height="{BAR}">{tip}</rect>',
        f'<rect class="mine" x="{x}" y="{y}" width="{length:.1f}" height="{BAR}">{tip}</rect>',
        f'<text class="small" x="{x + max(full, length) + 6:.1f}" y="{y + 12}">{mine / theirs:.0%}</text>',
    ]


def main() -> None:
    import compare

    results = compare.read_results()
    compare.include(results)


if __name__ == "__main__":
    main()
