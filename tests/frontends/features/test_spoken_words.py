"""Spoken words from raw sound: the published keyword spotter behind compiled preprocessing, on real clips."""

from __future__ import annotations

import numpy as np
import pytest

import mote
from mote.bench.execute.host_library import HostModel
from mote.frontends.data.dataset import dataset
from tests.helpers.support import PUBLIC_DATA, PUBLIC_MODELS

MODEL, CLIPS = PUBLIC_MODELS / "kws_ref_model.tflite", PUBLIC_DATA / "speech_commands_300.zip"
LABELS = f"{PUBLIC_DATA / 'keywords_mfcc.npz'}:labels"


@pytest.mark.slow
@pytest.mark.skipif(not (MODEL.exists() and CLIPS.exists()), reason="the published model or the clips are not there")
def test_words_from_samples() -> None:
    """As many words are right as with LiteRT on float features, and features are those of Python, bit for bit."""
    compiled = mote.compile(MODEL, target="host", preprocess="audio,peak,length=16000,mfcc")
    front = compiled.prepared.front
    assert front is not None
    clips = dataset(CLIPS, labels=LABELS, preprocess="length=16000", labelled=True)
    (sounds,) = clips.inputs.values()
    raw = [{front.raw.id: np.rint(s * 32768).astype(np.int16).reshape(front.raw.shape)} for s in sounds]
    (scores,) = HostModel(compiled).run(raw)
    assert (scores.reshape(len(raw), -1).argmax(1) == clips.labels).sum() == 293
    features = dataset(CLIPS, labels=LABELS, preprocess="peak,length=16000,mfcc").cases(compiled.source)
    for samples, (wanted,) in zip(raw, (case.values() for case in features), strict=True):
        made = front.graph.evaluate(samples)[front.graph.outputs[0]]
        np.testing.assert_array_equal(made.reshape(-1), wanted.reshape(-1))
