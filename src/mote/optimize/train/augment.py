"""Data augmentation for images, spectrograms, time series and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log1p

import torch
from torch.nn import functional

from mote.base.errors import MoteError
from mote.bench.execute.torch.float32.common import Value
from mote.ir.graph import Graph
from mote.optimize.train.training import Augment

FLIP, SHIFT = "flip", "shift"
_WHERE = "option augment"

Step = Callable[[Value, torch.Generator], Value]


@dataclass(frozen=True)
class AugmentStep:
    """A step of data augmentation."""

    make: Callable[..., Step]
    """Creates the augmentation function from its numeric parameters."""
    rank: int
    """Minimum number of axes of a sample."""
    example: str
    numbers: int = 1
    """Maximum number of numeric parameters, separated by x."""


def augmentation(text: str, graph: Graph, seed: int = 0) -> Augment | None:
    """Parses an augmentation for a graph's inputs; see `augmenting`."""
    return augmenting(text, [graph.tensors[t].shape[1:] for t in graph.inputs], seed) if text else None


def augmenting(text: str, shapes: Sequence[Sequence[int]], seed: int = 0) -> Augment | None:
    """Parses an augmentation such as "flip,shift=4" for inputs with these sample shapes; None for empty text. Equal
    seeds give equal samples on every machine, except noise on an accelerator.

    `flip` mirrors a random half of the images horizontally, `shift=4` shifts images by up to 4 pixels with edge
    padding, `cutout=8` replaces an 8x8 square by the mean; `time=4` shifts by up to 4 steps along the first axis
    (time), `stretch=0.1` changes the duration by up to 10%, `mask=8x2` replaces up to 8 time steps and up to 2 bins or
    channels by the mean (`mask=4`: 4 of each), `noise=0.1` adds noise of 0.1 standard deviations, `gain=0.2` scales by
    0.8 to 1.2."""
    words = [word.strip() for word in text.split(",")] if text else []
    if not words:
        return None
    steps = [_step(word) for word in words]
    rank = max(step.rank for step, _ in steps)
    if len(shapes) != 1 or len(shapes[0]) < rank:
        shown = " and ".join("x".join(map(str, (1, *shape))) for shape in shapes)
        kind = "image input" if rank == 3 else "input" if rank < 2 else "input of several steps of time"
        raise MoteError(f"is for models with one {kind}; this one takes {shown}", where=_WHERE)
    random = torch.Generator().manual_seed(seed)
    augmentations = [step.make(*numbers) for step, numbers in steps]

    def augment(inputs: Sequence[Value]) -> Sequence[Value]:
        samples = inputs[0]
        for step in augmentations:
            samples = step(samples, random)
        return [samples]

    return augment


def _step(word: str) -> tuple[AugmentStep, list[float]]:
    name, equals, text = word.partition("=")
    step = STEPS.get(name)
    if step is not None and ("=" in step.example) == bool(equals):
        try:
            numbers = [float(part) for part in text.split("x")] if equals else []
        except ValueError:
            numbers = [0.0]
        whole = "." not in step.example
        if len(numbers) <= step.numbers and all(n > 0 and (n == int(n) or not whole) for n in numbers):
            return step, numbers
    usual = ", ".join(step.example for step in STEPS.values())
    raise MoteError(f"'{word}' is unknown", where=_WHERE, remedy=f"use some of {usual}, as in {FLIP},{SHIFT}=4")


def _flipped(pictures: Value, random: torch.Generator) -> Value:
    """Mirrors a random half of images [N, height, width, channels] horizontally."""
    chosen = torch.rand(len(pictures), 1, 1, 1, generator=random) < 0.5
    return torch.where(chosen.to(pictures.device), pictures.flip(2), pictures)


def _shifted(pictures: Value, most: int, random: torch.Generator) -> Value:
    """Shifts each image by random numbers of pixels vertically and horizontally."""
    count, height, width, _ = pictures.shape
    wide = functional.pad(pictures.permute(0, 3, 1, 2), (most,) * 4, mode="replicate").permute(0, 2, 3, 1)
    down, right = torch.randint(0, 2 * most + 1, (2, count, 1), generator=random).to(pictures.device)
    rows = down + torch.arange(height, device=pictures.device)
    columns = right + torch.arange(width, device=pictures.device)
    numbers = torch.arange(count, device=pictures.device)
    return wide[numbers[:, None, None], rows[:, :, None], columns[:, None, :]]


def _cut_out(pictures: Value, size: int, random: torch.Generator) -> Value:
    """Replaces a square at a random position in each image by the image's mean (Cutout)."""
    count, height, width, _ = pictures.shape
    rows = _span(count, height, torch.full((count, 1), size), random, reach=size - size // 2)
    columns = _span(count, width, torch.full((count, 1), size), random, reach=size - size // 2)
    return _replaced_by_mean(pictures, (rows[:, :, None] & columns[:, None, :])[..., None])


def _masked(samples: Value, steps: int, bins: int, random: torch.Generator) -> Value:
    """Replaces a random span of time and a random span of bins by the sample's mean (SpecAugment)."""
    count, last = len(samples), 2 if samples.dim() > 3 and samples.shape[2] > 1 else samples.dim() - 1
    for axis, most in ((1, steps), (last, bins)):
        size = samples.shape[axis]
        lengths = torch.randint(0, min(most, size - 1) + 1, (count, 1), generator=random)
        span = _span(count, size, lengths, random)
        shape = [1] * samples.dim()
        shape[0], shape[axis] = count, size
        samples = _replaced_by_mean(samples, span.reshape(shape))
    return samples


def _span(count: int, size: int, lengths: Value, random: torch.Generator, reach: int = 0) -> Value:
    """Masks [N, size] of random spans of these lengths, which may extend past both ends by `reach`."""
    room = size - lengths + 2 * reach
    begins = (torch.rand(count, 1, generator=random) * (room + 1)).to(torch.int64) - reach
    positions = torch.arange(size)
    return (positions >= begins) & (positions < begins + lengths)


def _replaced_by_mean(samples: Value, mask: Value) -> Value:
    """Samples with masked elements replaced by the sample's mean."""
    mean = samples.mean(tuple(range(1, samples.dim())), keepdim=True)
    return torch.where(mask.to(samples.device), mean, samples)


def _shifted_in_time(samples: Value, most: int, random: torch.Generator) -> Value:
    """Shifts each sample along time, repeating the first or last step."""
    count, size = samples.shape[:2]
    steps = torch.arange(size) + torch.randint(-most, most + 1, (count, 1), generator=random)
    numbers = torch.arange(count, device=samples.device)
    return samples[numbers[:, None], steps.clamp(0, size - 1).to(samples.device)]


def _stretched(samples: Value, size: float, random: torch.Generator) -> Value:
    """Stretches or compresses each sample in time around its middle, repeating the first or last step."""
    count, steps = samples.shape[:2]
    factors = torch.exp((2 * torch.rand(count, 1, generator=random) - 1) * log1p(size))
    middle = (steps - 1) / 2
    positions = ((torch.arange(steps) - middle) * factors + middle).clamp(0, steps - 1)
    before = positions.floor().to(torch.int64)
    share = (positions - before).reshape(count, steps, *(1,) * (samples.dim() - 2)).to(samples.device)
    numbers = torch.arange(count, device=samples.device)[:, None]
    earlier, later = (samples[numbers, n.to(samples.device)] for n in (before, (before + 1).clamp(max=steps - 1)))
    return torch.lerp(earlier, later, share)


def _with_noise(samples: Value, size: float, random: torch.Generator) -> Value:
    own = torch.Generator(samples.device).manual_seed(int(torch.randint(1 << 62, (), generator=random)))
    noise = torch.randn(samples.shape, generator=own, device=samples.device)
    return samples + noise * samples.std() * size


def _with_gain(samples: Value, size: float, random: torch.Generator) -> Value:
    factors = 1 + size * (2 * torch.rand(len(samples), *(1,) * (samples.dim() - 1), generator=random) - 1)
    return samples * factors.to(samples.device)


def _mask(steps: float, bins: float = 0) -> Step:
    return lambda x, random: _masked(x, int(steps), int(bins or steps), random)


STEPS = {
    FLIP: AugmentStep(lambda: _flipped, 3, FLIP),
    SHIFT: AugmentStep(lambda most: lambda x, random: _shifted(x, int(most), random), 3, f"{SHIFT}=4"),
    "cutout": AugmentStep(lambda size: lambda x, random: _cut_out(x, int(size), random), 3, "cutout=8"),
    "time": AugmentStep(lambda most: lambda x, random: _shifted_in_time(x, int(most), random), 2, "time=4"),
    "mask": AugmentStep(_mask, 2, "mask=4", numbers=2),
    "stretch": AugmentStep(lambda size: lambda x, random: _stretched(x, size, random), 2, "stretch=0.1"),
    "noise": AugmentStep(lambda size: lambda x, random: _with_noise(x, size, random), 1, "noise=0.1"),
    "gain": AugmentStep(lambda size: lambda x, random: _with_gain(x, size, random), 1, "gain=0.2"),
}
"""Augmentation steps by name; an example with a decimal point takes floats, others integers."""
