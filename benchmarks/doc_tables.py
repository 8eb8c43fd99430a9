"""Measure every table of README.md and docs/ again, and tell which of them are older than the code.

    PYTHONPATH=src:models:. python benchmarks/doc_tables.py --models FOLDER
    PYTHONPATH=src:models:. python benchmarks/doc_tables.py --models FOLDER --only streaming coding
    PYTHONPATH=src:models:. python benchmarks/doc_tables.py --stale

FOLDER holds the published models (MLPerf Tiny and MCUNet). Each table stands between the marks `<!-- numbers NAME -->`
and `<!-- /numbers -->`, or between those of the script that writes it, and is what a script beside this one prints.
doc_tables.json keeps, for each table, what the bundled models took when it was measured (instructions, cycles, RAM,
flash: the figures of lock.py); the tests measure these again and name the tables that were measured with other code.
All of it takes about half an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import anchors
import lock

HERE = Path(__file__).parent
ROOT = HERE.parent
RECORD = HERE / "doc_tables.json"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
M4 = ("cortex-m4",)
EVERY = ("cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55", "rv32imc")
WITNESSES = tuple(case for case in lock.SOME if case[1] in EVERY and case[2] != "size")
"""What is measured to see whether code has changed: some of what the lock's tests measure anyway."""
MODELS = "FOLDER"
"""Stands for the folder of published models in a command."""


@dataclass(frozen=True)
class Table:
    """A script that prints a Markdown table, and tables that are derived from it, by name."""

    command: tuple[str, ...]
    cores: tuple[str, ...] = M4
    """The cores that it measures: changes of the code for others do not make it stale."""
    writes: bool = False
    """The script writes its tables into pages by itself."""
    derived: tuple[tuple[str, Callable[[str], str]], ...] = ()


def summary(table: str) -> str:
    """The README's table of memory: the models of the benchmark side by side."""
    _, _, *rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in table.splitlines()]
    shown = [row for row in rows if row[0] in {anchor.name for anchor in anchors.load()}]
    layers, least, bound, pushed, pushed_bound, others, instructions = zip(*(row[1:8] for row in shown), strict=True)
    bounds = [" / ".join(b.split(" ")[0] for b in pair if b != "-") for pair in zip(bound, pushed_bound, strict=True)]
    lines = {
        "layer by layer": layers,
        "least, `--ram min`": least,
        "least, input pushed, `--input rows`": pushed,
        "no schedule of rows goes below": bounds,
        "TFLM + CMSIS-NN; TinyEngine": others,
        "instructions, least against layers, same kernels": [re.sub(r".*\((.*)\)", r"\1", n) for n in instructions],
    }
    head = f"| arena + counters, bytes | {' | '.join(row[0] for row in shown)} |\n|---{'|--:' * len(shown)}|"
    return "\n".join([head, *(f"| {name} | {' | '.join(cells)} |" for name, cells in lines.items())])


TABLES: dict[str, Table] = {
    "compare": Table(("compare.py", "--models", MODELS, "--write"), EVERY, writes=True),
    "memory-rows": Table(("memory.py", "--models", MODELS), derived=(("memory-summary", summary),)),
    "streaming": Table(("stream_costs.py", "--models", MODELS)),
    "interpreter": Table(("interpreter.py", "--models", MODELS)),
    "chains": Table(("chains.py",)),
    "coding": Table(("coding.py", "--models", MODELS)),
    "estimates": Table(("fit_costs.py", "--check", *lock.TABLED), EVERY),
    "transformers": Table(("transformers.py",)),
    "compile-time": Table(("planning.py", "--stages")),
    "host": Table(("host.py", "--models", MODELS), cores=()),
    "sparse": Table(("sparse.py", "--write"), writes=True),
}


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", type=Path, metavar="FOLDER", help="the published models")
    p.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES), metavar="NAME", help="some of the tables")
    p.add_argument("--stale", action="store_true", help="only print which tables are older than the code")
    options = p.parse_args()
    if options.stale:
        print("measured with other code:", ", ".join(stale()) or "none")
        print("measured before this record was kept:", ", ".join(never()) or "none")
        return
    for name in options.only:
        table = TABLES[name]
        if MODELS in table.command and options.models is None:
            p.error(f"{name} needs --models")
        print(f"{name}: {' '.join(table.command)}", file=sys.stderr, flush=True)
        measure(name, table, options.models)
        RECORD.write_text(json.dumps(record() | {name: figures(table.cores)}, indent=1) + "\n", encoding="utf-8")


def measure(name: str, table: Table, models: Path | None) -> None:
    """Run the script of a table, and put what it prints into the pages."""
    words = [str(models.resolve()) if word == MODELS and models else word for word in table.command]
    done = subprocess.run([sys.executable, HERE / words[0], *words[1:]], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{words[0]} ended with {done.returncode}")
    if table.writes:
        return
    printed = markdown_table(done.stdout)
    for mark, make in ((name, lambda text: text), *table.derived):
        put(mark, make(printed))


def markdown_table(text: str) -> str:
    """What a script prints from its Markdown table on."""
    return text[text.index("|") :].rstrip()


def put(name: str, table: str) -> None:
    """Write a table between its marks, in every page that has them."""
    begin, end = f"<!-- numbers {name} -->", "<!-- /numbers -->"
    pages = [page for page in PAGES if begin in page.read_text(encoding="utf-8")]
    if not pages:
        raise SystemExit(f"no page has the mark {begin}")
    for page in pages:
        before, rest = page.read_text(encoding="utf-8").split(begin)
        page.write_text(f"{before}{begin}\n\n{table}\n\n{end}{rest.split(end, 1)[1]}", encoding="utf-8")


def figures(cores: tuple[str, ...]) -> dict[str, lock.Figures]:
    """What the witnesses on some cores take with the code as it is."""
    return {lock.key(case): taken(case) for case in WITNESSES if case[1] in cores}


@cache
def taken(case: lock.Case) -> lock.Figures:
    return lock.measure(case)


def record() -> dict[str, dict[str, lock.Figures]]:
    recorded: dict[str, dict[str, lock.Figures]] = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    return recorded


def stale() -> list[str]:
    """The tables that were measured with other code."""
    return [name for name, then in record().items() if then != figures(TABLES[name].cores)]


def never() -> list[str]:
    """The tables that were last measured before this record was kept."""
    return [name for name in TABLES if name not in record()]


if __name__ == "__main__":
    main()
