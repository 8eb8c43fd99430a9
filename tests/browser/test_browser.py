"""The headless browser sees what users see, does what they do, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import wave
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.browser import Browser, BrowserError, Page, executable

PAGE = """<!doctype html><html lang="en"><title>page</title>
<style>
:root { color-scheme: light dark; background: white; }
@media (prefers-color-scheme: dark) { :root { background: black; } }
@media print { button { display: none; } }
body { margin: 0; } #pad { width: 200px; height: 100px; background: silver; }
</style>
<button id="plus" onclick="clicked += event.detail">+</button>
<input id="name"><input id="file" type="file" multiple>
<div id="pad" tabindex="0">pad</div>
<script>
let clicked = 0, moves = [], pressed = [], dropped = [];
const pad = document.querySelector("#pad");
for (const kind of ["pointerdown", "pointermove", "pointerup"])
    pad.addEventListener(kind, event => moves.push([kind, event.offsetX, event.offsetY, event.buttons]));
document.addEventListener("keydown", event => pressed.push([event.key, event.shiftKey]));
pad.addEventListener("dragover", event => event.preventDefault());
pad.addEventListener("drop", async event => {
    event.preventDefault();
    for (const file of event.dataTransfer.files) dropped.push([file.name, await file.text()]);
});
</script>"""


def test_a_page_is_shown_and_used(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "b.txt").write_text("two")
    with browser.open(PAGE, width=320, height=500) as page:
        assert page.evaluate("[innerWidth, innerHeight, devicePixelRatio]") == [320, 500, 1]
        assert page.evaluate("(a, b) => Promise.resolve({sum: a + b.length})", 3, "four") == {"sum": 7}
        page.click("#plus")
        page.click("#plus", times=2)
        assert page.evaluate("clicked") == 1 + 1 + 2
        page.drag("#pad", (0.25, 0.5), (0.5, 0.5), (0.75, 0.9))
        assert page.evaluate("moves")[-4:] == [
            ["pointerdown", 50, 50, 1],
            ["pointermove", 100, 50, 1],
            ["pointermove", 150, 90, 1],
            ["pointerup", 150, 90, 0],
        ]
        page.click("#name")
        page.write("λ name")
        page.key("!")
        page.key("Backspace")
        page.key("x")
        page.key("Shift+Tab")
        page.key("Enter")
        assert page.evaluate("document.querySelector('#name').value") == "λ namex"
        assert page.evaluate("document.activeElement.id") == "plus" and page.evaluate("clicked") == 4
        assert page.evaluate("pressed.slice(1)") == [
            ["Backspace", False],
            ["x", False],
            ["Tab", True],
            ["Enter", False],
        ]
        page.drop("#pad", tmp_path / "a.txt", tmp_path / "b.txt")
        assert page.wait("dropped.length == 2 && dropped") == [["a.txt", "one"], ["b.txt", "two"]]
        page.choose("#file", tmp_path / "b.txt")
        assert page.evaluate("document.querySelector('#file').files[0].text()") == "two"
        page.evaluate("navigator.clipboard.writeText('copied')")
        assert page.clipboard() == "copied"
        assert page.errors == [] and page.requests == []


def test_preferences_and_media(browser: Browser, tmp_path: Path) -> None:
    background = "getComputedStyle(document.documentElement).backgroundColor"
    shown = "document.querySelector('button').getClientRects().length"
    still = "matchMedia('(prefers-reduced-motion)').matches"
    with browser.open(PAGE, dark=True, reduced_motion=True, scale=2) as page:
        assert page.evaluate(background) == "rgb(0, 0, 0)" and page.evaluate(still) and page.evaluate(shown) == 1
        assert page.evaluate("devicePixelRatio") == 2
        page.emulate(print_media=True)
        assert page.evaluate(background) == "rgb(255, 255, 255)" and not page.evaluate(still)
        assert page.evaluate(shown) == 0
        page.resize(640, 300)
        assert page.screenshot(tmp_path / "page.png", whole=False).read_bytes().startswith(b"\x89PNG")
        assert int.from_bytes((tmp_path / "page.png").read_bytes()[16:20]) == 640
        assert page.pdf(tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_errors_and_requests_are_seen(browser: Browser) -> None:
    with browser.open("<p>quiet</p><img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>") as page:
        assert page.errors == [] and page.requests == []
    with browser.open(
        """<title>t</title><img src="missing.png"><script>
        console.error("no", 3); console.log("yes"); alert("stop"); fetch("https://mote.invalid/x").catch(() => {});
        throw new Error("thrown")</script>""",
        offline=True,
    ) as page:
        page.wait("performance.now() > 200")
        assert "error: no 3" in page.errors and "dialog: stop" in page.errors and "log: yes" in page.console
        assert any("Error: thrown" in error for error in page.errors)
        assert [address.rsplit("/", 1)[-1] for address in page.requests] == ["missing.png", "x"]
        page.evaluate("Promise.reject(new Error('late')), setTimeout(() => missing, 1), 0")
        page.wait("new Promise(resolve => setTimeout(() => resolve(true), 50))")
        assert any("late" in error for error in page.errors) and any("missing is not" in e for e in page.errors)


def test_mistakes_of_tests_are_errors(browser: Browser) -> None:
    covered = "<button id=b>b</button><div style='position:fixed;inset:0' id=cover></div><i id=none hidden></i>"
    with browser.open(covered) as page:
        for script, reason in (("(", "SyntaxError"), ("missing", "ReferenceError"), ("Promise.reject(7)", "7")):
            with pytest.raises(BrowserError, match=reason):
                page.evaluate(script)
        for selector, reason in (("#b", "covered by <div"), ("#other", "no element"), ("#none", "not visible")):
            with pytest.raises(BrowserError, match=reason):
                page.click(selector)


def test_pages_share_nothing(browser: Browser) -> None:
    with browser.open("<p>1</p>") as first, browser.open("<p>2</p>") as second:
        first.evaluate("localStorage.setItem('theme', 'dark')")
        assert first.evaluate("localStorage.length") == 1 and second.evaluate("localStorage.length") == 0
        assert (first.text("p"), second.text("p")) == ("1", "2")


LISTEN = """(async () => {
    const stream = await navigator.mediaDevices.getUserMedia(
        {audio: {echoCancellation: false, noiseSuppression: false, autoGainControl: false}});
    const context = new AudioContext(), analyser = context.createAnalyser();
    context.createMediaStreamSource(stream).connect(analyser);
    const bins = new Float32Array(analyser.frequencyBinCount);
    let peak = 0;
    for (let tries = 0; tries < 500; tries++) {
        await new Promise(resolve => setTimeout(resolve, 10));
        analyser.getFloatFrequencyData(bins);
        peak = bins.indexOf(Math.max(...bins));
        if (bins[peak] > -40) break;
    }
    stream.getTracks().forEach(track => track.stop());
    await context.close();
    return peak * context.sampleRate / analyser.fftSize;
})()"""


def test_the_microphone_plays_a_file(browser: Browser) -> None:
    tone = 0.5 * np.sin(2 * np.pi * 3000 / 16000 * np.arange(8 * 16000))
    with wave.open(str(browser.sound), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes((tone * 32767).astype("<i2").tobytes())
    with browser.open(PAGE) as page:
        assert abs(page.evaluate(LISTEN) - 3000) < 100
        assert page.errors == []


ENDLESS = """
import sys, time
from tests.helpers.browser import Browser
browser = Browser(sys.argv[1])
with browser.open("<p>here</p>"):
    print(browser._process.pid, flush=True)
    time.sleep(600)
"""


def processes(group: int) -> list[int]:
    """Processes of a group that run."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if _group(pid) == group]


def _group(pid: int) -> int | None:
    try:
        state, _, group = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[:3]
    except OSError:
        return None
    return None if state == "Z" else int(group)


def test_nothing_is_left_behind() -> None:
    if not (command := executable()):
        pytest.skip("no browser")
    with Browser(command) as own, own.open("<p>here</p>") as page:
        assert isinstance(page, Page) and processes(own._process.pid)
    assert processes(own._process.pid) == [] and not own.folder.exists()


@pytest.mark.slow
def test_a_killed_test_leaves_no_browser() -> None:
    if not (command := executable()):
        pytest.skip("no browser")
    killed = subprocess.Popen([sys.executable, "-c", ENDLESS, command], stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None
    group = int(killed.stdout.readline())
    assert processes(group)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    while processes(group):
        time.sleep(0.05)
