"""MLPerf Tiny's ResNet-8, where it and its pictures are there: half of the multiplications, without any training."""

from __future__ import annotations

import pytest

import mote
from mote.frontends.data.dataset import dataset
from tests.helpers.support import PUBLIC_MODELS

PICTURES = PUBLIC_MODELS.parent / "data" / "cifar10.zip"


@pytest.mark.slow
@pytest.mark.skipif(not PICTURES.exists(), reason="no pictures")
def test_half_of_the_multiplications_go_and_half_of_the_instructions_with_them() -> None:
    train, test = dataset(f"{PICTURES}/train"), dataset(f"{PICTURES}/test", labelled=True)
    model = PUBLIC_MODELS / "pretrainedResnet.tflite"
    found = mote.prune(
        model, train.take(slice(0, None, 40)), macs="50%", samples=128, test=test.take(slice(0, None, 8))
    )
    before, after = found.before, found.after
    assert before.accuracy is not None and after.accuracy is not None and before.costs is not None
    assert after.macs <= before.macs / 2 and after.costs is not None
    assert after.costs.cycles < 0.6 * before.costs.cycles and after.costs.flash < 0.65 * before.costs.flash
    assert before.accuracy > 0.7 and after.accuracy > 0.4
