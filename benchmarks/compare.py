"""Mote against the numbers in anchors.json, for every model and core, as Markdown tables.

    python benchmarks/compare.py [--models FOLDER] [--only KWS ...] [--cores cortex-m4 ...] [--write]

FOLDER holds the published models (MLPerf Tiny and MCUNet); without it, architectures of the same shapes with random
weights stand in: the same arena and code, nearly the same instructions. `--write` (with all models and cores) writes
the tables to results.md and from there into README.md and docs/, between the marks `<!-- benchmark NAME -->` and
`<!-- /benchmark -->`, with what summaries.py derives from them. It takes about ten minutes on two processors.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pool
from pathlib import Path

import summaries
from anchors import HERE, TFLM, TINYENGINE, Anchor, load
from flash import waiting
from mote import compile, profile, run, verify

M0PLUS, M4, M55 = "cortex-m0plus", "cortex-m4", "cortex-m55"
CORES = (M0PLUS, "cortex-m3", M4, "cortex-m7", "cortex-m33", M55, "rv32imc")
USUAL = "balanced"
NOTHING = "-"
FASTEST = "speed"
SETTINGS = {M4: (USUAL, FASTEST, "size")}
"""What is measured on a core; on all others the usual setting and the fastest."""
RIVALLED = (M4, M55)
"""Cores with a table for each setting that holds Mote against other engines."""
RESULTS = HERE / "results.md"
ROOT = HERE.parent
PAGES = (
    ROOT / "README.md",
    *(ROOT / "docs" / "measure" / name for name in ("benchmarks.md", "comparison.md", "profiling.md")),
)
EXAMPLE = ("profile", "models/digits.tflite", "--target", "stm32l4r5")


@dataclass(frozen=True)
class Result:
    """One model on one core. `exact`: how many tensors were found equal to the reference, or what was not.
    `waiting`: cycles of the model compiled for flash that waits (flash.py), on Cortex-M4."""

    instructions: int
    cycles: int
    waiting: int
    macs: int
    ram: int
    stack: int
    code: int
    constants: int
    exact: str

    @property
    def flash(self) -> int:
        return self.code + self.constants


Results = dict[tuple[str, str, str], Result]
"""By model, core and optimization."""


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", type=Path, help="folder with the published models")
    p.add_argument("--only", nargs="+", metavar="MODEL", help="some of the models")
    p.add_argument("--cores", nargs="+", default=CORES, metavar="CORE", help="some of the cores")
    p.add_argument("--inputs", type=int, default=4, help="inputs of the verification")
    p.add_argument("--write", action="store_true", help="write results.md and the tables of README.md and docs/")
    arguments = p.parse_args()
    if arguments.write and (arguments.only or not arguments.models or set(arguments.cores) != set(CORES)):
        p.error("--write needs --models, and all models and cores")
    anchors = [a for a in load() if a.name in (arguments.only or [a.name])]
    jobs = [(a, core, how) for a in anchors for core in arguments.cores for how in settings(core)]
    results: Results = {}
    with Pool() as pool:
        found = pool.imap(partial(measure, arguments.models, arguments.inputs), jobs)
        for (anchor, core, optimize), result in zip(jobs, found, strict=True):
            print(f"{anchor.name} on {core}, {optimize}", file=sys.stderr, flush=True)
            results[anchor.name, core, optimize] = result
    sections = tables(anchors, arguments.cores, results)
    if arguments.write:
        sections["profile"] = example()
        write(sections)
    else:
        print("\n\n".join(f"## {name}\n\n{text}" for name, text in sections.items()))


def settings(core: str) -> tuple[str, ...]:
    return SETTINGS.get(core, (USUAL, FASTEST))


def measure(folder: Path | None, inputs: int, job: tuple[Anchor, str, str]) -> Result:
    """A model on a core with a setting."""
    anchor, core, optimize = job
    model = anchor.model(folder)
    compiled = compile(model, target=core, optimize=optimize, io="int8")
    cost, cycles = run(compiled, layers=False), profile(compiled, layers=False).cycles
    exact, slow = "", 0
    if core == M4:
        slow = profile(compile(model, target=waiting(), optimize=optimize, io="int8"), layers=False).cycles
    if core in RIVALLED:
        checked = verify(compiled, inputs)
        exact = f"yes ({checked.tensors} tensors)" if checked.passed else f"NO ({len(checked.mismatches)} differences)"
    return Result(
        cost.instructions or 0,
        cycles,
        slow,
        compiled.macs,
        cost.ram.arena + (cost.ram.static or 0),
        cost.ram.stack or 0,
        cost.flash.code or 0,
        cost.flash.constants,
        exact,
    )


def tables(anchors: list[Anchor], cores: list[str], results: Results) -> dict[str, str]:
    found: dict[str, str] = {}
    for core in (core for core in RIVALLED if core in cores):
        for optimize in settings(core):
            rows = [against_others(a, core, results[a.name, core, optimize]) for a in anchors]
            found[f"{core.removeprefix('cortex-')}-{optimize}"] = markdown(*saying(HEAD, rows))

    def by_core(cell: Callable[[Anchor, str, Result], str], optimize: str) -> str:
        rows = [[a.name, *(cell(a, core, results[a.name, core, optimize]) for core in cores)] for a in anchors]
        return markdown(["", *cores], rows)

    for optimize in (USUAL, FASTEST):
        end = "" if optimize == USUAL else f"-{optimize}"
        found[f"instructions{end}"] = by_core(millions_of_instructions, optimize)
        found[f"cycles{end}"] = by_core(millions_of_cycles, optimize)
        found[f"memory{end}"] = by_core(lambda a, core, r: f"{r.ram:,} + {r.flash:,}", optimize)
    return found


HEAD = [
    "model",
    "instructions",
    "per MAC",
    TFLM,
    TINYENGINE,
    "cycles (model)",
    "cycles, built for flash that waits",
    "best published",
    "RAM",
    "others",
    "stack",
    "flash: code + constants",
    "others",
    "exact",
]


def saying(head: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Without the columns that say nothing."""
    kept = [n for n in range(len(head)) if any(row[n] != NOTHING for row in rows)]
    return [head[n] for n in kept], [[row[n] for n in kept] for row in rows]


def against_others(anchor: Anchor, core: str, r: Result) -> list[str]:
    engine, memory = anchor.rival
    flash = memory["code"] + memory["model"]
    published = anchor.best_published(core) if r.waiting else None
    return [
        anchor.name,
        f"{r.instructions:,}",
        f"{r.instructions / r.macs:.2f}",
        *(ratio(r.instructions, anchor.instructions(e, core)) for e in (TFLM, TINYENGINE)),
        f"{r.cycles:,}",
        f"{r.waiting:,}" if r.waiting else NOTHING,
        ratio(r.waiting, published[1] if published else None, published[0] if published else ""),
        f"{r.ram:,}",
        ratio(r.ram, memory["ram"], "" if engine == TFLM else engine),
        f"{r.stack:,}",
        f"{r.code:,} + {r.constants:,}",
        ratio(r.flash, flash, "" if engine == TFLM else engine),
        r.exact,
    ]


def ratio(mine: int, theirs: int | None, whose: str = "") -> str:
    """Their number and how many times of it mine is."""
    if theirs is None:
        return NOTHING
    return f"{theirs:,} ({whose + ', ' if whose else ''}{mine / theirs:.2f}x)"


def millions_of_instructions(anchor: Anchor, core: str, r: Result) -> str:
    theirs = anchor.instructions(TFLM, core) or anchor.instructions(TINYENGINE, core)
    return f"{r.instructions / 1e6:.2f}" + (f" ({r.instructions / theirs:.2f}x)" if theirs else "")


def millions_of_cycles(anchor: Anchor, core: str, r: Result) -> str:
    published = anchor.best_published(core) if core == M0PLUS else None
    return f"{r.cycles / 1e6:.2f}" + (f" ({r.cycles / published[1]:.2f}x)" if published else "")


def markdown(head: list[str], rows: list[list[str]]) -> str:
    first, *others = (f"| {' | '.join(cells)} |" for cells in [head, *rows])
    return "\n".join([first, f"|---|{'--:|' * (len(head) - 1)}", *others])


def example() -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mote", *EXAMPLE], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return f"```\n$ mote {' '.join(EXAMPLE)}\n{done.stdout.rstrip()}\n```"


def write(sections: dict[str, str]) -> None:
    how = "Written by `python benchmarks/compare.py --models FOLDER --write`; README.md and docs/ show parts of it."
    head = f"# Results\n\n{how}\n"
    RESULTS.write_text(head + "".join(f"\n## {name}\n\n{text}\n" for name, text in sections.items()), encoding="utf-8")
    include(sections)


def include(sections: dict[str, str]) -> None:
    """Write tables and what is derived from them into the pages."""
    sections = sections | summaries.derived(sections)
    for page in PAGES:
        page.write_text(included(page.read_text(encoding="utf-8"), sections), encoding="utf-8")
    summaries.PICTURE.write_text(summaries.picture(sections), encoding="utf-8")


MARKS = re.compile(r"(<!-- benchmark ([\w-]+) -->\n).*?(<!-- /benchmark -->)", re.DOTALL)


def included(page: str, sections: dict[str, str]) -> str:
    """A page with its marked parts as they are in the results."""
    return MARKS.sub(lambda found: f"{found[1]}\n{sections[found[2]]}\n\n{found[3]}", page)


def read_results() -> dict[str, str]:
    parts = re.split(r"^## ([\w-]+)\n\n", RESULTS.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {name: text.strip("\n") for name, text in zip(parts[::2], parts[1::2], strict=True)}


if __name__ == "__main__":
    main()
