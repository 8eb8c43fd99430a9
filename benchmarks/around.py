"""Networks that `mote search --from` makes of a bundled model.

    python benchmarks/around.py             # the table of docs/improve/architecture-search.md
    python benchmarks/around.py --update    # put it into the page

Nothing but the bundled model and its 300 training images is used; the 360 test images are only tested with.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from mote.optimize.nas.result import SearchResult
from mote.optimize.nas.searcher import search

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "improve" / "architecture-search.md"
BEGIN, END = "<!-- around -->\n\n", "<!-- /around -->"
MODELS = ROOT / "models"
TARGET = "cortex-m4"
TRIALS, EPOCHS, FINALISTS = 48, 30, 6
HEAD = "| model | test | validation | RAM | flash | cycles | what |\n|---|--:|--:|--:|--:|--:|---|\n"


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--update", action="store_true", help="write the page")
    update = p.parse_args().update
    result = found()
    print(table(result))
    print(f"{result.costed} planned, {result.trials} scored, {result.spent}")
    if update:
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        after = rest.split(END, 1)[1]
        PAGE.write_text(f"{before}{BEGIN}{table(result)}\n{END}{after}", encoding="utf-8")


def found() -> SearchResult:
    """The search of the command on the page."""
    return search(
        MODELS / "digits_train.npz",
        test=MODELS / "digits_test.npz",
        around=MODELS / "digits_float.tflite",
        target=TARGET,
        trials=TRIALS,
        epochs=EPOCHS,
        finalists=FINALISTS,
        device="cpu",
    )


def table(result: SearchResult) -> str:
    """The models of a search as a table of Markdown: the front, then others."""
    rows = [
        f"| `{m.name}` | {m.test:.2%} | {m.validation:.2%} | {m.costs.ram:,} | {m.costs.flash:,} | {m.costs.cycles:,} |"
        f" {m.description} |\n"
        for m in (*result.members, *result.dominated)
    ]
    return HEAD + "".join(rows)


if __name__ == "__main__":
    main()
