"""Steps of preprocessing: what they do, how they are written, and what is no step."""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.frontends.data.dataset import dataset
from mote.frontends.features.pipeline import preprocessing
from mote.frontends.features.sample import Sample
from mote.frontends.features.steps import STEPS
from tests.frontends.data.test_features import KEYWORDS, WAKE_WORD

RNG = np.random.default_rng(0)
IMAGE = RNG.uniform(0, 255, (6, 8, 3)).astype(np.float32)
SOUND = RNG.normal(size=100).astype(np.float32)


def done(steps: str, values: Any) -> Any:
    return preprocessing(steps)(Sample(values)).values


@pytest.mark.parametrize(
    ("steps", "given", "want"),
    [
        ("", IMAGE, IMAGE),
        ("scale=1/255", IMAGE, IMAGE / 255),
        ("scale=1/127.5, offset=-1", IMAGE, IMAGE / 127.5 - 1),
        ("mean=3,std=2", IMAGE, (IMAGE - 3) / 2),
        ("mean(1,2,3),std(4,5,6)", IMAGE, (IMAGE - [1, 2, 3]) / [4, 5, 6]),
        ("clip(10,20.5)", IMAGE, IMAGE.clip(10, 20.5)),
        ("clip(high=20,low=1e1)", IMAGE, IMAGE.clip(10, 20)),
        ("shape(12,4,3)", IMAGE, IMAGE.reshape(12, 4, 3)),
        ("channels-first", IMAGE, IMAGE.transpose(2, 0, 1)),
        ("peak", SOUND, SOUND / SOUND.max()),
        ("peak", 0 * SOUND, 0 * SOUND),
        ("length=120", SOUND, np.append(SOUND, np.zeros(20))),
        ("length=30", SOUND, SOUND[:30]),
        ("pre-emphasis=31/32", SOUND, SOUND - 31 / 32 * np.append(0, SOUND[:-1])),
        ("mono", SOUND.reshape(50, 2), SOUND.reshape(50, 2).mean(1)),
        ("float", np.arange(3, dtype=np.uint8), np.arange(3.0)),
    ],
    ids=range(16),
)
def test_what_steps_do(steps: str, given: Any, want: Any) -> None:
    found = done(steps, given)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)
    assert found.dtype == np.float32


def test_features_have_parameters() -> None:
    sound = RNG.normal(size=2000)
    assert done("mfcc(rate=16000)", sound).shape == (5, 10)
    assert done("mfcc(rate=16000,frame=400,hop=160,count=13)", sound).shape == (11, 13)
    assert done("log-mel(rate=16000,filters=20)", sound).shape == (5, 20)
    difference = done("log-mel(rate=16000,unit=ln)", sound) * 10 / np.log(10) - done("log-mel(rate=16000)", sound)
    np.testing.assert_allclose(difference, 0, atol=0.02)
    assert done("spectrogram(frame=400,hop=160)", sound).shape == (11, 257)


def test_samples_of_arrays_are_prepared_one_by_one() -> None:
    batch = np.stack([IMAGE / 2, IMAGE])
    found = dataset((batch, [0, 1]), preprocess="gray,resize=4x3").inputs["arr_0"]
    assert found.shape == (2, 3, 4, 1)
    np.testing.assert_allclose(found[1], 2 * found[0], atol=4)


def test_a_function_of_the_users(tmp_path: Path) -> None:
    code = tmp_path / "mine, really.py"
    code.write_text("import numpy as np\n\ndef half(x):\n    return np.asarray(x) / 2\n\nnone = 3\n")
    for steps in (lambda x: x / 2, f"{tmp_path}/mine.py:half"):
        code.with_name("mine.py").write_text(code.read_text())
        np.testing.assert_allclose(dataset([IMAGE, 2 * IMAGE], preprocess=steps).inputs["arr_0"][0], IMAGE / 2)
    assert str(preprocessing(f"{tmp_path}/mine.py:half,scale=2")) == f"{tmp_path}/mine.py:half,scale=2"
    for steps, said in (
        (f"{tmp_path}/absent.py:half", "no such file"),
        (f"{tmp_path}/mine.py:third", "has no function 'third'"),
        (f"{tmp_path}/mine.py:none", "has no function 'none'"),
    ):
        with pytest.raises(MoteError, match=said):
            preprocessing(steps)
    (tmp_path / "broken.py").write_text("1 / 0")
    with pytest.raises(MoteError, match=r"cannot be run .*ZeroDivisionError"):
        preprocessing(f"{tmp_path}/broken.py:f")
    with pytest.raises(MoteError, match=r"fails on sample 0 .*KeyError"):
        dataset([IMAGE, IMAGE], preprocess=lambda x: {}[3])


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("sclae=2", "'sclae' is no step"),
        ("scale", "missing a required argument: 'factor'"),
        ("scale(1,2)", "too many positional arguments"),
        ("scale(2,by=3)", "got an unexpected keyword"),
        ("scale=two", "factor is 'two', not a number"),
        ("scale=1/0", "divides by zero"),
        ("scale=1e999", "factor is 'inf', not a number"),
        ("length=1.5", "samples is '1.5', not a whole number"),
        ("length=0", "length=0 cannot be"),
        ("length=1e12", "cannot be"),
        ("mean(1,2)", "mean has 2 numbers, and sample has 3 channels"),
        ("mean", "mean has 0 numbers"),
        ("std=0", "divides by zero"),
        ("shape(7,7)", "sample is 6x8x3 and cannot be 7x7"),
        ("shape(-1,144)", "cannot be"),
        ("resize=5", "'5' is no size"),
        ("resize=0x5", "'0x5' is no size"),
        ("resize=99999x99999", "is no size"),
        ("crop=9x9", "image is 8x6, less than 9x9"),
        ("shape=144,gray", "sample is 144, no image"),
        ("mono", "sample is 6x8x3, no sound"),
        ("shape=144,mfcc", "how many samples a second"),
        ("scale=(1", "cannot be read"),
        ("scale=1)", "cannot be read"),
        ("scale==2", "is no step"),
        (",,", "cannot be read"),
        ("3=scale", "is no step"),
    ],
    ids=range(27),
)
def test_what_is_no_step(steps: str, said: str) -> None:
    with pytest.raises(MoteError, match=said) as error:
        done(steps, IMAGE)
    assert error.value.where.startswith("option preprocess") and error.value.remedy


@settings(deadline=None)
@given(st.text(st.sampled_from("scale=1/255,()mfc.py:- x"), max_size=30))
def test_any_text(text: str) -> None:
    try:
        assert preprocessing(text) is not None
    except MoteError as error:
        assert error.where.startswith("option preprocess")


def test_steps_are_documented() -> None:
    """Each with its parameters and what they are by default."""
    page = (Path(__file__).parents[3] / "docs" / "improve" / "data.md").read_text()
    listed = dict(re.findall(r"^\| `([\w-]+)(\([^`]*\))?` \|", page.partition("## Preprocessing")[2], re.MULTILINE))
    parameters = {name: list(signature(function).parameters.values())[1:] for name, function in STEPS.items()}
    wanted = {
        name: ", ".join(p.name if p.default is p.empty else f"{p.name}={p.default}" for p in found)
        for name, found in parameters.items()
    }
    assert {name: text.strip("()") for name, text in listed.items() if name in STEPS} == wanted
    for steps in (KEYWORDS, WAKE_WORD):
        assert steps in page
