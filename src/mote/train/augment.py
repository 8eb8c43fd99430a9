"""Data augmentation for images."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch.nn import functional

from mote.errors import MoteError
from mote.execute.torch.float32.common import Value
from mote.graph import Graph
from mote.train.training import Augment

FLIP, SHIFT = "flip", "shift"
_WHERE = "option augment"

Step = Callable[[Value, torch.Generator], Value]


def augmentation(text: str, graph: Graph, seed: int = 0) -> Augment | None:
    """Parses an augmentation such as "flip,shift=4": random horizontal flips, and random shifts by up to that many
    pixels with edge padding. None where the text is empty. A seed gives the same images on every machine."""
    steps = [_step(word.strip()) for word in text.split(",")] if text else []
    if not steps:
        return None
    shapes = [graph.tensors[t].shape for t in graph.inputs]
    if len(shapes) != 1 or len(shapes[0]) != 4:
        shown = " and ".join("x".join(map(str, shape)) for shape in shapes)
        raise MoteError(f"is for models with one image input; this one takes {shown}", where=_WHERE)
    random = torch.Generator().manual_seed(seed)

    def augment(inputs: Sequence[Value]) -> Sequence[Value]:
        pictures = inputs[0]
        for step in steps:
            pictures = step(pictures, random)
        return [pictures]

    return augment


def _step(word: str) -> Step:
    name, _, number = word.partition("=")
    if word == FLIP:
        return _flipped
    if name == SHIFT and number.isdecimal() and int(number) > 0:
        return lambda pictures, random: _shifted(pictures, int(number), random)
    raise MoteError(f"'{word}' is unknown", where=_WHERE, remedy=f"use {FLIP}, {SHIFT}=4, or {FLIP},{SHIFT}=4")


def _flipped(pictures: Value, random: torch.Generator) -> Value:
    """Flips a random half of [N, height, width, channels] horizontally."""
    chosen = torch.rand(len(pictures), 1, 1, 1, generator=random) < 0.5
    return torch.where(chosen.to(pictures.device), pictures.flip(2), pictures)


def _shifted(pictures: Value, most: int, random: torch.Generator) -> Value:
    """Shifts each image by a random number of pixels, vertically and horizontally."""
    count, height, width, _ = pictures.shape
    wide = functional.pad(pictures.permute(0, 3, 1, 2), (most,) * 4, mode="replicate").permute(0, 2, 3, 1)
    down, right = torch.randint(0, 2 * most + 1, (2, count, 1), generator=random).to(pictures.device)
    rows = down + torch.arange(height, device=pictures.device)
    columns = right + torch.arange(width, device=pictures.device)
    numbers = torch.arange(count, device=pictures.device)
    return wide[numbers[:, None, None], rows[:, :, None], columns[:, None, :]]
