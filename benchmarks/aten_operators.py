"""The table of operators in docs/models/pytorch.md: what the reader knows and the tests compare with PyTorch.

PYTHONPATH=models:. python benchmarks/aten_operators.py           # print it
PYTHONPATH=models:. python benchmarks/aten_operators.py --write   # write the page
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from generated_table import Page
from mote.frontends.torch import grids
from mote.frontends.torch.ops import (
    activations,
    arithmetic,
    indexing,
    matrix,
    moves,
    norms,
    recurrent,
    reductions,
    windows,
)

PAGE = Path(__file__).parents[1] / "docs" / "models" / "pytorch.md"
BEGIN, END = "<!-- the operators: benchmarks/aten_operators.py -->\n", "<!-- end of the operators -->\n"
REALS, ANY = "float32", "float32, all integers, bool"
FAMILIES = {
    "Convolutions, pooling, resizing": (
        windows.PARSERS,
        REALS,
        "constant weights; max pooling without indices; no divisor of its own in average pooling",
    ),
    "Products and attention": (
        matrix.PARSERS,
        REALS,
        "attention with masks, causal, and with grouped queries; distances of any norm",
    ),
    "Normalization, softmax": (norms.PARSERS, REALS, "in evaluation mode; constant scales of batch and group norms"),
    "Activations": (activations.PARSERS, REALS, ""),
    "Elements": (arithmetic.PARSERS, ANY, "rounding to no decimals"),
    "Reductions, sorting": (
        reductions.PARSERS,
        ANY,
        "of equal elements the first one comes first, which PyTorch leaves open",
    ),
    "Moves": (moves.PARSERS, ANY, "sizes and places that are known"),
    "Indices": (
        indexing.PARSERS,
        ANY,
        "constant indices on any axes, computed ones on one axis; elements are put at constant places only",
    ),
    "Recurrent layers": (recurrent.PARSERS, REALS, "no projections; constant weights; states given or kept"),
}


def names(parsers: Iterable[str]) -> str:
    """Operators without their overloads."""
    found = {name.split(".")[1] for name in parsers if name not in norms.TRAINING}
    return ", ".join(sorted(found, key=lambda name: (name.strip("_"), name)))


def table() -> str:
    """The families, the operators of each, their types and limits, and what becomes integers."""
    lines = ["| | operators of ATen | types | limits |", "| --- | --- | --- | --- |"]
    for family, (found, types, limits) in FAMILIES.items():
        lines.append(f"| {family} | {names(found)} | {types} | {limits} |")
    limits = "one grid for a tensor, for weights one or one for each channel"
    lines.append(f"| Between codes (PT2E) | {names(grids.FINDERS)} | int8, uint8 | {limits} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The page with the table that follows from the reader."""
    return Page(PAGE, BEGIN, END).with_table(table())


if __name__ == "__main__":
    Page(PAGE, BEGIN, END).run(table(), __doc__)
