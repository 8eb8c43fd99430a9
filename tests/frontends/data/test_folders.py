"""Folders and archives of files: classes by folder, and archives that mean harm."""

from __future__ import annotations

import io
import shutil
import wave
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError, TooLargeError
from mote.frontends.data.dataset import dataset
from mote.frontends.data.readers import folders, labelled_files

RNG = np.random.default_rng(0)


def tone(samples: int = 20, rate: int = 8000, channels: int = 1) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(RNG.integers(-9999, 9999, samples * channels).astype("<i2").tobytes())
    return file.getvalue()


def image(width: int = 3, height: int = 2) -> bytes:
    pillow = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    pillow.fromarray(RNG.integers(0, 256, (height, width, 3), np.uint8)).save(file, "PNG")
    return file.getvalue()


def folder(top: Path, files: Mapping[str, bytes]) -> Path:
    shutil.rmtree(top, ignore_errors=True)
    for name, data in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(data)
    return top


def archive(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in files.items():
            out.writestr(name, data)
    return path


WORDS = {f"{word}/{clip}.wav": tone() for word in ("yes", "no", "bird") for clip in "ba"} | {"LICENSE": b"text"}


def test_a_folder_and_an_archive_of_it_are_the_same(tmp_path: Path) -> None:
    one = dataset(folder(tmp_path / "words", WORDS), labelled=True)
    other = dataset(archive(tmp_path / "words.zip", WORDS), labelled=True)
    for found in (one, other):
        assert found.classes == ("bird", "no", "yes")
        assert found.names == ("bird/a.wav", "bird/b.wav", "no/a.wav", "no/b.wav", "yes/a.wav", "yes/b.wav")
        assert found.labels is not None and found.labels.tolist() == [0, 0, 1, 1, 2, 2]
        assert found.inputs["arr_0"].shape == (6, 20)
    np.testing.assert_array_equal(one.inputs["arr_0"], other.inputs["arr_0"])


@pytest.mark.parametrize("way", ["/", ":"])
def test_a_folder_in_an_archive(way: str, tmp_path: Path) -> None:
    files = {f"{part}/{kind}/{i}.png": image() for part in ("train", "test") for kind in "ab" for i in range(2)}
    path = archive(tmp_path / "images.zip", files)
    found = dataset(f"{path}{way}test", labelled=True)
    assert found.classes == ("a", "b") and found.inputs["arr_0"].shape == (4, 2, 3, 3)
    with pytest.raises(MoteError, match="has folders in folders: test, train") as error:
        dataset(path)
    assert error.value.remedy.endswith("images.zip/test")
    with pytest.raises(MoteError, match="no folder 'other'; it has test, train"):
        dataset(f"{path}{way}other")


def test_files_without_folders_have_no_classes(tmp_path: Path) -> None:
    found = dataset(folder(tmp_path / "x", {"a.wav": tone(), "b.WAV": tone(), ".hidden.wav": b"", "c.txt": b""}))
    assert found.labels is None and found.classes == () and found.names == ("a.wav", "b.WAV")


@pytest.mark.parametrize("labels", ["no,yes,unknown", "names.txt", "names.npz:classes"])
def test_classes_in_another_order(labels: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the model has them; folders that it does not know are all the others."""
    monkeypatch.chdir(tmp_path)
    Path("names.txt").write_text("no\nyes\nunknown\n")
    np.savez("names.npz", classes=np.array(["no", "yes", "unknown"]))
    found = dataset(archive(tmp_path / "words.zip", WORDS), labels=labels, labelled=True)
    assert found.classes == ("no", "yes", "unknown")
    assert found.labels is not None and found.labels.tolist() == [2, 2, 0, 0, 1, 1]


CASES: dict[str, tuple[Mapping[str, bytes], dict[str, str], str]] = {
    "nothing": ({"a/b.txt": b""}, {}, "has no images and no WAV files"),
    "both": ({"a/b.wav": tone(), "b/a.png": b""}, {}, "images as well as sounds"),
    "beside": ({"a/b.wav": tone(), "c.wav": tone()}, {}, r"has 'c\.wav' beside its folders"),
    "lengths": ({"a/a.wav": tone(20), "a/b.wav": tone(30)}, {}, r"a/b\.wav: is float32 30, another is float32 20"),
    "rates": ({"a/a.wav": tone(20, 8000), "a/b.wav": tone(20, 9000)}, {}, "has 9000 samples a second, .* has 8000"),
    "channels": ({"a/a.wav": tone(20), "b/b.wav": tone(20, channels=2)}, {}, r"b\.wav: is float32 20x2"),
    "classes": (WORDS, {"labels": "yes,no"}, "the folder 'bird' is none of the classes yes, no"),
    "a damaged sound": ({"a/a.wav": tone()[:-3]}, {}, r"a/a\.wav: is no whole WAV file"),
    "one": ({"a/a.wav": tone()}, {}, "one sample only"),
    "too short": (WORDS, {"preprocess": "mfcc"}, "has 20 samples, and a frame takes 480"),
}


@pytest.mark.parametrize("zipped", [False, True], ids=["folder", "archive"])
@pytest.mark.parametrize("name", CASES)
def test_what_is_refused(name: str, zipped: bool, tmp_path: Path) -> None:
    files, options, said = CASES[name]
    path = archive(tmp_path / "x.zip", files) if zipped else folder(tmp_path / "x", files)
    with pytest.raises(MoteError, match=said) as error:
        dataset(path, **options)
    assert str(path) in error.value.where or name == "too short"
    assert error.value.remedy


def test_images_of_different_sizes(tmp_path: Path) -> None:
    path = folder(tmp_path / "x", {"a/a.png": image(3, 2), "b/b.png": image(4, 4)})
    with pytest.raises(MoteError, match=r"b\.png: is float32 4x4x3, another is float32 2x3x3") as error:
        dataset(path)
    assert "resize=WIDTHxHEIGHT" in error.value.remedy
    assert dataset(path, preprocess="resize=5x6").inputs["arr_0"].shape == (2, 6, 5, 3)


@pytest.mark.parametrize("name", ["../a.wav", "/etc/a.wav", "a/../../b.wav", "a\\..\\b.wav"])
def test_names_that_lead_out_of_an_archive(name: str, tmp_path: Path) -> None:
    with pytest.raises(MoteError, match="which leads out of it"):
        dataset(archive(tmp_path / "x.zip", {name: tone(), "a/b.wav": tone()}))


def test_archives_that_unpack_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an archive says of the sizes is believed only as the most that is read."""
    bomb = archive(tmp_path / "x.zip", {"a/a.wav": tone(), "a/b.wav": bytes(3 << 20)})
    monkeypatch.setattr(folders, "LARGEST_FILE", 1 << 20)
    with pytest.raises(TooLargeError, match=r"b\.wav: has 3,145,728 bytes"):
        dataset(bomb)
    monkeypatch.setattr(folders, "MOST_FILES", 3)
    with pytest.raises(TooLargeError, match="more than 3 files"):
        dataset(archive(tmp_path / "y.zip", WORDS))
    with pytest.raises(TooLargeError, match="more than 3 files"):
        dataset(folder(tmp_path / "y", WORDS))


def test_an_archive_that_lies_about_sizes(tmp_path: Path) -> None:
    """More is packed than is said: no more than was said comes out, and that has another checksum."""
    path = archive(tmp_path / "x.zip", {"a/a.wav": tone(5000)})
    data = path.read_bytes()
    said, less = (10044).to_bytes(4, "little"), (44).to_bytes(4, "little")
    assert data.count(said) == 2
    path.write_bytes(data.replace(said, less))
    with pytest.raises(MoteError, match=r"a/a\.wav: is no whole archive"):
        dataset(path)


def test_samples_that_take_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labelled_files, "MOST", 300)
    with pytest.raises(TooLargeError, match="the first 4 of 6 files take 320 bytes"):
        dataset(archive(tmp_path / "x.zip", WORDS))


def test_what_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path / "absent.zip" / "test", f"{tmp_path}/absent.zip:test"):
        with pytest.raises(MoteError, match="no such file or folder"):
            dataset(path)
    np.save(tmp_path / "x.npy", np.eye(3))
    with pytest.raises(MoteError, match="is no archive of files"):
        dataset(f"{tmp_path}/x.npy:test")
    (tmp_path / "x.bin").write_bytes(b"something else")
    with pytest.raises(MoteError, match="no data that Mote knows"):
        dataset(tmp_path / "x.bin")


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=5), st.floats(0, 1))
def test_damaged_archives(tmp_path_factory: Any, changes: list[tuple[float, int]], kept: float) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.zip"
    whole = archive(path, {"a/a.wav": tone(), "b/b.wav": tone()}).read_bytes()
    damaged = bytearray(whole)
    for at, value in changes:
        damaged[int(at * (len(whole) - 1))] = value
    path.write_bytes(damaged[: int(kept * len(whole))] if kept < 0.5 else damaged)
    try:
        found = dataset(path)
    except MoteError:
        return
    assert len(found) == 2
