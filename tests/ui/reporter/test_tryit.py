"""The model in the page: it computes what the reference does, of inputs that are made as Python makes them."""

from __future__ import annotations

import base64
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.bench.execute.host_library import HostModel
from mote.frontends.data.dataset import Dataset, dataset
from mote.frontends.data.readers.pictures import picture
from mote.frontends.data.readers.sounds import sound
from mote.frontends.features.images import IMAGE_STEPS
from mote.frontends.features.pipeline import Takes, preprocessing, takes
from mote.frontends.features.sample import Sample
from mote.frontends.features.steps import STEPS
from mote.hardware.toolchain import wasm
from mote.hardware.toolchain.compilers import zig_command
from mote.ir.graph.tensor import Array
from mote.ui.reporter import html
from mote.ui.reporter.preparation import preparation, step_records
from mote.ui.reporter.sections import SECTIONS, tryit
from mote.ui.reporter.subject import Subject, Subjects
from tests.helpers.accessibility import accessibility
from tests.helpers.browser import Browser, Page
from tests.helpers.network import Net
from tests.helpers.overlaps import overlaps

MODELS = Path(__file__).parents[3] / "models"
MFCC = "peak,length=16000,mfcc"
CHECKED = "document.querySelector('.tryit-checked')?.dataset.checked"
LAST = "[tryIt.last.pieces, tryIt.last.made].map((all) => all.map((each) => each.map((x) => Array.from(x, Number))))"
APPLY = (
    "(sample, steps) => { const made = prepare.apply(sample, steps); return [Array.from(made.values), made.shape]; }"
)

needs_zig = pytest.mark.skipif(zig_command() is None, reason="ziglang is not installed")


def section(compiled: mote.Compiled, data: Dataset | None = None) -> dict[str, Any]:
    return tryit.tryit(Subjects((Subject(compiled),), data))


def page_of(told: dict[str, Any]) -> str:
    """A report with this section only."""
    sections = [{"key": s.key, "title": s.title, "whole": told if s.key == "tryit" else None} for s in SECTIONS]
    targets = [{"name": "host", "clock_hz": None, "layers": [], "each": {}}]
    return html.page({"mote": "", "model": "model", "targets": targets, "sections": sections})


@contextmanager
def opened(browser: Browser, told: dict[str, Any], **how: Any) -> Iterator[Page]:
    """The page, when it has checked the model and found it right; it may log no error, and ask for nothing."""
    with browser.open(page_of(told), offline=True, **how) as page:
        assert page.wait(CHECKED) == "good"
        yield page
        assert page.errors == [] and page.requests == []


@pytest.fixture(scope="module")
def digits() -> dict[str, Any]:
    if zig_command() is None:
        pytest.skip("ziglang is not installed")
    data = dataset(MODELS / "digits_test.npz")
    return section(mote.compile(MODELS / "digits.tflite", target="host"), data)


@pytest.fixture(scope="module")
def shared_page(digits: dict[str, Any], browser: Browser) -> Iterator[Page]:
    with opened(browser, digits) as page:
        yield page


@pytest.fixture
def page(shared_page: Page) -> Page:
    """The page of the digits with nothing tried in it."""
    shared_page.evaluate("tryIt.last = null")
    shared_page.click("#tryit-draw + div button")
    return shared_page


@pytest.fixture(scope="module")
def words() -> mote.Compiled:
    return mote.compile(MODELS / "keywords.tflite", target="host")


def recording(path: Path, seconds: float = 1.0, channels: int = 1) -> Path:
    """A WAV file of a tone that rises, in noise."""
    rng = np.random.default_rng(3)
    time = np.arange(int(16000 * seconds)) / 16000
    values = 9000 * np.sin(2 * np.pi * (300 + 900 * time) * time) * np.exp(-((time - 0.4) ** 2) / 0.02)
    heard = np.stack([values + rng.normal(0, 300, len(time)) for _ in range(channels)], 1).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(heard.tobytes())
    return path


def run_on_host(compiled: mote.Compiled, values: Array) -> tuple[Array, Array]:
    """The input that real values become, and its outputs."""
    graph = compiled.plan.graph
    cases = dataset(values[None], several=False).cases(graph)
    (made,) = HostModel(compiled).run(cases)
    return cases[0][graph.inputs[0]], made[0]


def test_a_drawn_digit_is_recognised(page: Page) -> None:
    ring = [(0.5 + 0.24 * np.sin(a), 0.5 - 0.38 * np.cos(a)) for a in np.linspace(0, 2 * np.pi, 24)]
    checked = page.text(".tryit-checked")
    assert "16 of 16 inputs" in checked and "bit for bit" in checked and "s an inference here" in checked
    page.drag("#tryit-draw", *ring)
    assert "Drawing: 0 is highest" in page.text(".tryit-results")
    page.click("#tryit-draw + div button")
    page.drag("#tryit-draw", (0.5, 0.1), (0.5, 0.9))
    assert "Drawing: 1 is highest" in page.text(".tryit-results")


def test_what_is_shown_stays_when_the_window_changes(page: Page) -> None:
    page.click("#tryit-random")
    shown = page.text(".tryit-results strong")
    page.resize(640)
    page.settle()
    assert page.text(".tryit-results strong") == shown and "Random" in shown
    page.resize(1280)


def test_keys_draw_and_choose(page: Page) -> None:
    page.evaluate("document.querySelector('#tryit-draw').focus()")
    for key in ("Space", *["ArrowDown"] * 9, "Space", "Tab", "Tab"):
        page.key(key)
    drawn = np.array(page.wait(LAST)[0][0][0]).reshape(8, 8)
    assert (drawn[4:7, 3:5] > -64).all() and (drawn[:3] == -128).all()
    page.evaluate("document.querySelector('.tryit-sample').focus()")
    page.key("Enter")
    page.wait("document.querySelector('.tryit-results').innerText.includes('sample')")
    assert "(0): 0 is highest" in page.text(".tryit-results")


@pytest.mark.parametrize(("width", "dark"), [(320, True), pytest.param(1280, False, marks=pytest.mark.slow)])
def test_everybody_can_use_and_read_it(digits: dict[str, Any], browser: Browser, width: int, dark: bool) -> None:
    with opened(browser, digits, width=width, dark=dark) as page:
        page.click("#tryit-random")
        assert accessibility(page) == [] and overlaps(page, "#tryit") == []


@needs_zig
@pytest.mark.parametrize("channels", [2, pytest.param(1, marks=pytest.mark.slow)])
def test_a_dropped_sound_has_the_features_and_outputs_of_python(
    words: mote.Compiled, browser: Browser, tmp_path: Path, channels: int
) -> None:
    file = recording(tmp_path / "word.wav", channels=channels)
    clips = np.random.default_rng(0).normal(0, 0.1, (3, 16000)).astype(np.float32)
    data = dataset((clips, np.array([0, 1, 2])), preprocess=MFCC.replace("mfcc", "mfcc(rate=16000)"), labelled=True)
    wanted, outputs = run_on_host(words, preprocessing(MFCC)(sound(file.read_bytes(), "word")).values)
    with opened(browser, section(words, data)) as page:
        page.drop(".tryit-inputs", file)
        ((inputs,),), ((made,),) = page.wait(f"tryIt.last && {LAST}")
        assert inputs == wanted.reshape(-1).tolist() and made == outputs.reshape(-1).tolist()
        assert "word.wav" in page.text(".tryit-results")
        page.drop(".tryit-inputs", recording(tmp_path / "long.wav", 1.5))
        page.wait("document.querySelector('.tryit-results').innerText.includes('long.wav')")


@needs_zig
def test_features_of_a_long_sound(words: mote.Compiled, browser: Browser, tmp_path: Path) -> None:
    """Without a length the page computes row after row, with what the frame before has left."""
    file = recording(tmp_path / "long.wav", 1.3)
    steps = "pre-emphasis=31/32,mfcc"
    data = dataset(
        np.random.default_rng(0).normal(0, 0.1, (2, 16000)), preprocess=steps.replace("mfcc", "mfcc(rate=16000)")
    )
    wanted = preprocessing(steps)(sound(file.read_bytes(), "long")).values
    with opened(browser, section(words, data)) as page:
        page.drop(".tryit-inputs", file)
        pieces, _ = page.wait(f"tryIt.last && {LAST}")
        assert len(pieces) == len(wanted) - 48
        cases = dataset(wanted[10:59][None], several=False).cases(words.plan.graph)
        assert pieces[10][0] == cases[0][words.plan.graph.inputs[0]].reshape(-1).tolist()


@needs_zig
def test_a_recording_of_the_microphone_runs(words: mote.Compiled, browser: Browser) -> None:
    data = dataset(np.full((2, 16000), [[0.0], [0.5]]), preprocess="length=16000,mfcc(rate=16000)")
    recording(browser.sound, 2.0)
    with opened(browser, section(words, data)) as page:
        assert "Record 1 s" in page.text("#tryit-record")
        page.click("#tryit-record")
        page.wait("document.querySelector('.tryit-results').innerText.includes('Recording')")
        ((inputs,),), _ = page.evaluate(LAST)
        assert len(inputs) == 490 and len(set(inputs)) > 50
        page.errors[:] = [error for error in page.errors if "ScriptProcessorNode" not in error]


def test_a_dropped_picture_is_prepared_as_in_python(page: Page, digits: dict[str, Any], tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    file = tmp_path / "digit.png"
    image.fromarray(np.random.default_rng(1).integers(0, 256, (37, 23, 3), np.uint8)).save(file)
    compiled = mote.compile(MODELS / "digits.tflite", target="host")
    assert digits["prepare"]["assumed"] == "gray,resize=8x8,scale=1/255"
    steps = preprocessing(digits["prepare"]["assumed"])
    wanted, outputs = run_on_host(compiled, steps(picture(file.read_bytes(), "digit")).values)
    page.choose("#tryit-file", file)
    ((inputs,),), ((made,),) = page.wait(f"tryIt.last && {LAST}")
    assert inputs == wanted.reshape(-1).tolist() and made == outputs.reshape(-1).tolist()


def test_a_picture_of_the_camera_runs(page: Page) -> None:
    page.click("#tryit-camera")
    page.wait("document.querySelector('.tryit-video')?.videoWidth > 0")
    page.click("#tryit-shoot")
    ((inputs,),), _ = page.wait(f"tryIt.last && {LAST}")
    assert len(set(inputs)) > 3 and "Camera" in page.text(".tryit-results")
    page.click("#tryit-shoot + button")
    page.wait("!document.querySelector('.tryit-video') && !!document.querySelector('#tryit-camera')")


WRONG = {
    "cut.wav": (b"RIFF\x00\x01\x00\x00WAVEfmt ", "cut.wav: is a sound, and this model takes pictures"),
    "broken.png": (b"\x89PNG no picture", "broken.png: is no picture that this browser reads"),
    "short.csv": (b"1,2,3", "short.csv: has 3 values, and the input takes 64 (1x8x8x1)"),
    "words.txt": (b"1, two, 3", "words.txt: 'two' is no number"),
    "cut.npy": (b"\x93NUMPY\x01\x00\x76\x00{'descr'", "cut.npy: is an array of a type or order"),
}


def test_wrong_files_are_refused_with_the_reason(page: Page, tmp_path: Path) -> None:
    for name, (content, said) in WRONG.items():
        (tmp_path / name).write_bytes(content)
        page.drop(".tryit-inputs", tmp_path / name)
        page.wait("(said) => document.querySelector('.tryit-wrong').textContent.startsWith(said)", said)
    np.save(tmp_path / "given.npy", np.arange(-64, 64, dtype=np.int8).reshape(2, 8, 8))
    page.drop(".tryit-inputs", tmp_path / "given.npy")
    page.wait("document.querySelector('.tryit-wrong').textContent === '' && tryIt.last?.made.length === 2")
    assert page.evaluate(LAST)[0][1][0] == list(range(64))


@needs_zig
def test_numbers_are_typed_and_sounds_say_what_is_missing(
    words: mote.Compiled, browser: Browser, tmp_path: Path
) -> None:
    values = np.random.default_rng(5).uniform(-1, 1, 490).astype(np.float32)
    wanted, outputs = run_on_host(words, values.reshape(49, 10, 1))
    with opened(browser, section(words)) as page:
        page.click(".tryit-inputs textarea")
        page.write(" ".join(f"{x:.9g}" for x in values))
        page.click("#tryit-run")
        ((inputs,),), ((made,),) = page.wait(f"tryIt.last && {LAST}")
        assert inputs == wanted.reshape(-1).tolist() and made == outputs.reshape(-1).tolist()
        page.drop(".tryit-inputs", recording(tmp_path / "word.wav"))
        page.wait("document.querySelector('.tryit-wrong').textContent.includes('--preprocess')")


@needs_zig
def test_float_models_are_compared_within_rounding(browser: Browser) -> None:
    told = section(mote.compile(MODELS / "digits_float.tflite", target="host"))
    with opened(browser, told) as page:
        assert "8 of 8 inputs" in page.text(".tryit-checked")


@needs_zig
def test_features_have_fields_that_samples_fill(browser: Browser, tmp_path: Path) -> None:
    trees = pytest.importorskip("sklearn.tree")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3)).astype(np.float32)
    y = (x[:, 0] > 0).astype(int)
    (tmp_path / "t.csv").write_text(
        "a,b,c,y\n" + "".join(f"{r[0]},{r[1]},{r[2]},{k}\n" for r, k in zip(x, y, strict=True))
    )
    fitted = trees.DecisionTreeClassifier(max_depth=1).fit(x, y)
    told = section(mote.compile(fitted, target="host"), dataset(tmp_path / "t.csv"))
    with opened(browser, told) as page:
        assert page.text(".tryit-fields").split() == ["a", "b", "c"]
        for a in (-2, 2):
            page.evaluate("(a) => { document.querySelector('.tryit-fields input').value = a; }", a)
            page.click("#tryit-run")
            assert page.text(".tryit-results strong") == f"Values: {int(a > 0)}"
        page.click(".tryit-sample")
        fields = "Array.from(document.querySelectorAll('.tryit-fields input'), (field) => Number(field.value))"
        assert np.allclose(page.evaluate(fields), x[np.flatnonzero(y == 0)[0]], rtol=1e-6)


@needs_zig
def test_several_inputs_are_typed(browser: Browser) -> None:
    net = Net(0)
    compiled = mote.compile(net.finish(net.add(net.input(1, 3), net.input(1, 3))), target="host")
    graph = compiled.plan.graph
    given = [np.array([[-1.0, 0.5, 2.0]]), np.array([[0.25, -3.0, 1.0]])]
    (case,) = dataset({f"arr_{i}": x.astype(np.float32) for i, x in enumerate(given)}, several=False).cases(graph)
    (wanted,) = HostModel(compiled).run([case])
    fill = """(all) => document.querySelectorAll(".tryit-fields input").forEach((x, i) => { x.value = all[i]; })"""
    with opened(browser, section(compiled)) as page:
        page.evaluate(fill, np.concatenate(given, 1)[0].tolist())
        page.click("#tryit-run")
        (inputs,), ((made,),) = page.wait(f"tryIt.last && {LAST}")
        assert inputs == [case[t].reshape(-1).tolist() for t in graph.inputs] and made == wanted[0].tolist()
        page.evaluate(fill, ["", 1, 2, 3, 4, 5])
        page.click("#tryit-run")
        assert "has 2 values, and the input takes 3" in page.text(".tryit-wrong")


@needs_zig
def test_a_stream_gives_outputs_when_its_window_is_full(browser: Browser, tmp_path: Path) -> None:
    net = Net(0)
    window = net.depthwise(net.input(1, 6, 1, 4), kernel=(3, 1), padding="VALID")
    compiled = mote.compile(net.finish(net.fully_connected(net.flat(window), 3)), target="host", stream=1)
    frames = np.random.default_rng(0).integers(-128, 128, (9, 1, 1, 4)).astype(np.int8)
    np.save(tmp_path / "frames.npy", frames)
    graph = compiled.plan.graph
    (wanted,) = HostModel(compiled).run([{graph.inputs[0]: frame[None]} for frame in frames], stream=True)
    with opened(browser, section(compiled)) as page:
        page.drop(".tryit-inputs", tmp_path / "frames.npy")
        _, made = page.wait(f"tryIt.last && {LAST}")
        assert np.array_equal([outputs[0] for outputs in made][5:], wanted[5:])
        page.wait("(document.querySelector('.tryit-outputs output')?.textContent ?? '1') > '5'")
        for first in ("Home", *["ArrowRight"] * 5):
            page.evaluate("document.querySelector('.tryit-outputs input').focus()")
            page.key(first)
            page.settle()
            begun = page.text(".tryit-outputs output") == "6 of 9"
            assert ("no outputs yet" in page.text(".tryit-results")) != begun


def test_a_model_that_computes_something_else_is_seen(digits: dict[str, Any], browser: Browser) -> None:
    first, *rest = digits["checks"]
    wrong = bytearray(base64.b64decode(first["expected"][0]))
    wrong[0] ^= 1
    told = {**digits, "checks": [{**first, "expected": [base64.b64encode(wrong).decode()]}, *rest]}
    with browser.open(page_of(told)) as page:
        assert page.wait(CHECKED) == "bad"
        assert "Wrong in this browser: 1 of 16 inputs" in page.text(".tryit-checked")


def test_without_a_compiler_the_section_says_what_to_install(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wasm, "zig_command", lambda: None)
    monkeypatch.setattr(wasm.shutil, "which", lambda name: None)
    with browser.open(page_of(section(mote.compile(MODELS / "digits.tflite", target="host")))) as page:
        assert 'pip install "moteml[zig]" (407 MB)' in page.text("#tryit")


STEPS_TRIED = (
    ("float,scale=1/255,offset=-0.5,clip(-0.4,0.3)", (5, 7, 3)),
    ("mean(10,20,30),std(2,3,4),channels-first", (5, 7, 3)),
    ("gray,resize=9x4,shape(36)", (5, 7, 3)),
    ("crop=4x3,resize=11x13", (9, 8, 3)),
    ("crop(5x7,x=2,y=1),resize(12x3,method=bilinear),resize(5x8,method=area)", (9, 8, 3)),
    ("resize(3x20,method=nearest),resize(1x1,method=bilinear)", (1, 8, 3)),
    ("camera(6x5,rgb565be),resize=4x9", (9, 8, 3)),
    ("camera(10x4,gray8),scale=1/255", (9, 8, 1)),
    ("mono,pre-emphasis=31/32,shape(1)", (4096, 2)),
    ("peak,length=3000,shape(1)", (4096,)),
)


def test_all_steps_make_what_python_makes(page: Page) -> None:
    tried = {step["name"] for text, _ in STEPS_TRIED for step in step_records(preprocessing(text))}
    in_page = {name for name, step in STEPS.items() if takes(step) in (Takes.SAMPLE, Takes.BOTH)}
    assert tried == in_page | {"camera"} | {name for name, step in STEPS.items() if step in IMAGE_STEPS}
    rng = np.random.default_rng(0)
    for text, shape in STEPS_TRIED:
        rate = 16000 if shape[0] == 4096 else 0
        values = (np.clip(rng.normal(0, 0.3, shape), -0.49, 0.49) if rate else rng.integers(0, 256, shape)).astype(
            np.float32
        )
        wanted = preprocessing(text)(Sample(values, rate=rate, period=1.0 if rate else 0.0)).values
        sample = {"values": values.reshape(-1).tolist(), "shape": list(shape), "rate": rate}
        made, sizes = page.evaluate(APPLY, sample, step_records(preprocessing(text)))
        assert sizes == list(wanted.shape), text
        np.testing.assert_allclose(made, wanted.reshape(-1), rtol=2e-6, atol=2e-6, err_msg=text)


def test_inputs_are_recognised(words: mote.Compiled) -> None:
    def kind(compiled: mote.Compiled, data: Dataset | None = None) -> dict[str, Any]:
        graph = compiled.plan.graph
        return preparation(graph, graph.tensors[graph.inputs[0]], data)

    digits = mote.compile(MODELS / "digits.tflite", target="host")
    light = dataset(1 - np.load(MODELS / "digits_test.npz")["x"])
    assert kind(digits)["kind"] == "picture" and kind(digits)["paper"] == "dark"
    assert kind(digits, light)["paper"] == "light"
    assert kind(words)["kind"] == "features"
    assert kind(words, dataset(np.ones((2, 490)) * [[1], [2]], preprocess=lambda x: x))["unknown"] == "<lambda>"
    sounds = dataset(np.random.default_rng(0).normal(size=(2, 640)), preprocess="micro-frontend(rate=16000)")
    assert kind(words, sounds)["unknown"] == "micro-frontend(rate=16000)"
