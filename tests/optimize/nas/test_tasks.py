"""Tasks from data: their kinds, splits and preprocessing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.optimize.nas.tasks import FRONT_ENDS, learning_tasks

MODELS = Path(__file__).parents[3] / "models"


def data(*shape: int, labels: Any = None, dtype: Any = np.float32, count: int = 20) -> mote.Dataset:
    values = np.random.default_rng(0).normal(3.0, 50.0, (count, *shape)).astype(dtype)
    return mote.dataset((values, np.arange(count) % 4 if labels is None else labels))


@pytest.mark.parametrize(
    ("shape", "dtype", "kind", "taken"),
    [
        ((7,), np.float32, "table", (7,)),
        ((128, 3), np.float32, "series", (128, 1, 3)),
        ((128, 1, 3), np.float32, "series", (128, 1, 3)),
        ((49, 10), np.float32, "spectrogram", (49, 10, 1)),
        ((49, 10, 1), np.float32, "spectrogram", (49, 10, 1)),
        ((12, 16, 1), np.uint8, "image", (12, 16, 1)),
        ((8, 8, 3), np.float32, "image", (8, 8, 3)),
    ],
)
def test_kinds(shape: tuple[int, ...], dtype: Any, kind: str, taken: tuple[int, ...]) -> None:
    (task,) = learning_tasks(data(*shape, dtype=dtype))
    assert (task.kind, task.input, task.outputs, task.classes) == (kind, taken, 4, True)
    x = task.inputs(task.train, task.scale)
    assert x.shape == (len(task.train), *taken) and x.dtype == np.float32 and 0.5 < np.sqrt((x**2).mean()) < 4


def test_only_spectrograms_have_a_usual_augmentation() -> None:
    steps = {shape: learning_tasks(data(*shape))[0].augmentation for shape in ((49, 10), (4, 40), (32, 3), (9, 9, 3))}
    assert steps == {(49, 10): "time=5,stretch=0.15", (4, 40): "time=1,stretch=0.15", (32, 3): "", (9, 9, 3): ""}


def test_a_stated_kind() -> None:
    (task,) = learning_tasks(data(16, 16, labels=None), kind="image")
    assert task.kind == "image" and task.input == (16, 16, 1)
    with pytest.raises(MoteError, match="no kind of task"):
        learning_tasks(data(7), kind="picture")
    with pytest.raises(MoteError, match="are no image"):
        learning_tasks(data(7), kind="image")
    with pytest.raises(MoteError, match="of no kind"):
        learning_tasks(data(2, 3, 4, 5))


def test_sounds_have_front_ends() -> None:
    """Every front end gives a spectrogram of its own of the same samples."""
    tasks = learning_tasks(data(16000, count=8), kind="sound")
    assert [task.front_end for task in tasks] == list(FRONT_ENDS)
    assert len({task.input for task in tasks}) == len(tasks) and {task.kind for task in tasks} == {"spectrogram"}
    labels = [list(np.asarray(task.validation.labels)) for task in tasks]
    assert all(one == labels[0] for one in labels)


def test_splits() -> None:
    labels = np.array([0] * 50 + [1] * 10)
    given = mote.dataset((np.arange(60, dtype=np.float32)[:, None], labels))
    (task,) = learning_tasks(given, seed=1)
    assert task.validation.labels is not None and list(np.bincount(task.validation.labels)) == [10, 2]
    assert len(task.train) == 48
    (again,) = learning_tasks(given, seed=1)
    (other,) = learning_tasks(given, seed=2)

    name = next(iter(task.validation.inputs))
    values = [np.sort(t.validation.inputs[name].ravel()) for t in (task, again, other)]
    assert (values[0] == values[1]).all() and not np.array_equal(values[0], values[2])


def test_own_validation_data() -> None:
    (task,) = learning_tasks(data(7), data(7, count=6))
    assert len(task.train) == 20 and len(task.validation) == 6


def test_standardization_is_of_the_training_data() -> None:
    given = data(3)
    (task,) = learning_tasks(given)
    (rows,) = task.train.inputs.values()
    assert np.allclose(rows.mean(0), 0, atol=1e-3) and np.allclose(rows.std(0), 1, atol=1e-3)
    (both,) = task.prepared(given).inputs.values()
    assert {tuple(row) for row in rows} <= {tuple(row) for row in both}


def test_regression() -> None:
    (task,) = learning_tasks(data(7, labels=np.linspace(0, 1, 20)))
    assert (task.outputs, task.classes, task.metric) == (1, False, "R2")


def test_accuracy() -> None:
    """As `mote evaluate` has it."""
    (task,) = learning_tasks(mote.dataset(MODELS / "digits_train.npz"))
    test = mote.dataset(MODELS / "digits_test.npz")
    assert task.accuracy(MODELS / "digits.tflite", test) == mote.score(MODELS / "digits.tflite", test).value
