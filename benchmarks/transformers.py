"""What small transformers take: one Markdown table on standard output.

    python benchmarks/transformers.py [--target cortex-m4] [--tokens 32,64] [--no-measure]

The networks are those of models/transformer.py (two layers, 64 wide, four heads, int8, random weights): an encoder, a
decoder of whole sequences, and the decoder for one token at a time with its cache of keys and values. For each: the
bytes of one layer's attention matrices; RAM layer by layer as the file has the operators, the least RAM for those, and
the least RAM with heads read where they lie, a row for each token and caches changed in place; of that plan the state
inside of RAM, the flash, and the instructions of one inference (a sequence, or one token) on the emulated core.
"""

from __future__ import annotations

import argparse
from unittest.mock import patch

import anchors  # first: it says where the models' scripts are

# isort: split
from tests.helpers.forgetting import forgetting

import transformer
from memory import layer_by_layer
from mote import compile, run
from mote.compiler.compiled import Compiled
from mote.compiler.passes import pipeline
from mote.compiler.plan import planner

assert anchors.__doc__
HEAD = (
    "model",
    "tokens",
    "attention",
    "layers",
    "least, as in the file",
    "least",
    "of it state",
    "flash",
    "instructions",
)
PASSES = ("fold heads", "flatten sequences", "update states", "slide windows")
"""Without them the operators are as the file has them."""


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--target", default="cortex-m4")
    p.add_argument("--tokens", default="32,64")
    p.add_argument("--no-measure", dest="measure", action="store_false", help="plans only, nothing is emulated")
    arguments = p.parse_args()
    print(f"| {' | '.join(HEAD)} |\n|---|{'--:|' * (len(HEAD) - 1)}", flush=True)
    for tokens in map(int, arguments.tokens.split(",")):
        shape = transformer.Shape(length=tokens)
        for name in ("encoder", "decoder", "step"):
            model = getattr(transformer, name)(shape)
            rows = 1 if name == "step" else tokens
            print(row(name, model, tokens, shape.heads * rows * tokens, arguments), flush=True)


def row(name: str, model: bytes, tokens: int, matrix: int, arguments: argparse.Namespace) -> str:
    kept = tuple(entry for entry in pipeline.PASSES if entry.name not in PASSES)
    with patch.object(pipeline, "PASSES", kept):
        with patch.object(planner, "knee", layer_by_layer):
            layers = _compiled(model, arguments.target)
        plain = _compiled(model, arguments.target, least_ram=True)
    least = _compiled(model, arguments.target, least_ram=True)
    state = sum(s.initial.nbytes for s in least.plan.graph.states)
    figures = [tokens, matrix, layers.plan.ram, plain.plan.ram, least.plan.ram, state]
    if arguments.measure:
        cost = run(least, layers=False)
        figures += [cost.flash.total, cost.instructions or 0]
    else:
        figures += [0, 0]
    return f"| {name} | {' | '.join(f'{n:,}' if n else '-' for n in figures)} |"


def _compiled(model: bytes, target: str, **options: object) -> Compiled:
    """Compiled anew: what is known of a model depends on the passes."""
    with forgetting():
        return compile(model, target=target, **options)


if __name__ == "__main__":
    main()
