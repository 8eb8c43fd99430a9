"""Augmentations change samples within bounds, the same way for the same seed."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from mote.base.errors import MoteError
from mote.optimize.train.augment import STEPS, augmenting

SHAPE = (20, 10, 2)


def samples(*shape: int) -> torch.Tensor:
    return torch.randn(64, *shape, generator=torch.Generator().manual_seed(0)) + 5


def augmented(text: str, x: torch.Tensor) -> torch.Tensor:
    augment = augmenting(text, [x.shape[1:]])
    assert augment is not None
    (y,) = augment([x])
    return y


@pytest.mark.parametrize("text", [step.example for step in STEPS.values()])
def test_samples_are_changed_and_the_same_each_time(text: str) -> None:
    x = samples(*SHAPE)
    y = augmented(text, x)
    assert y.shape == x.shape and not torch.equal(x, y)
    assert torch.equal(y, augmented(text, x))


def test_a_square_is_cut_out() -> None:
    x = samples(*SHAPE)
    changed = (augmented("cutout=4", x) != x).all(-1)
    assert set(changed.any(2).sum(1).tolist()) <= {2, 3, 4} and changed.any(2).sum(1).max() == 4
    assert set(changed.any(1).sum(1).tolist()) <= {2, 3, 4}


@pytest.mark.parametrize(("shape", "bins"), [(SHAPE, 2), ((20, 1, 12), 3)])
def test_spans_of_time_and_of_bins_are_masked(shape: tuple[int, ...], bins: int) -> None:
    x = samples(*shape)
    changed = augmented("mask=4", x) != x
    whole = {axis: changed.all([other for other in (1, 2, 3) if other != axis]).sum(1) for axis in (1, bins)}
    for lengths in whole.values():
        assert set(lengths.tolist()) == {0, 1, 2, 3, 4}


def test_time_and_bins_have_masks_of_their_own() -> None:
    x = samples(*SHAPE)
    changed = augmented("mask=6x2", x) != x
    assert set(changed.all((2, 3)).sum(1).tolist()) == {0, 1, 2, 3, 4, 5, 6}
    assert set(changed.all((1, 3)).sum(1).tolist()) == {0, 1, 2}


def test_sequences_are_stretched_around_their_middle() -> None:
    x = torch.arange(21.0).reshape(1, 21, 1, 1).expand(64, 21, 1, 1)
    y = augmented("stretch=0.25", x)[..., 0, 0]
    assert torch.allclose(y[:, 10], torch.full((64,), 10.0))
    speeds = y[:, 11] - y[:, 10]
    assert 0.8 <= float(speeds.min()) < 0.85 and 1.2 < float(speeds.max()) <= 1.25
    assert float(y.min()) == 0 and float(y.max()) == 20


def test_sequences_are_shifted_in_time() -> None:
    x = torch.arange(20.0).reshape(1, 20, 1, 1).expand(64, 20, 1, 1)
    first = augmented("time=3", x)[:, 10, 0, 0] - 10
    assert set(first.tolist()) == {-3, -2, -1, 0, 1, 2, 3}


def test_noise_and_gain_are_in_proportion() -> None:
    x = samples(5)
    assert float((augmented("noise=0.1", x) - x).std()) == pytest.approx(0.1 * float(x.std()), rel=0.2)
    factors = augmented("gain=0.2", x) / x
    assert 0.8 <= float(factors.min()) < 0.85 and 1.15 < float(factors.max()) <= 1.2


@pytest.mark.parametrize(
    "text", ["cutout", "cutout=1.5", "flip=2", "noise=-1", "mask=few", "mask=1x2x3", "time=2x2", "flip,"]
)
def test_steps_that_do_not_exist(text: str) -> None:
    with pytest.raises(MoteError, match=r"is unknown(.|\n)*use some of flip, shift=4, cutout=8, time=4, mask=4"):
        augmenting(text, [SHAPE])
