"""A headless Chromium that tests drive over the DevTools protocol: messages of JSON on two pipes, without a library.

    with browser.open(path, width=320, dark=True) as page:
        page.click("#layers button")
        assert page.evaluate("document.title") == "digits"
        assert page.errors == [] and page.requests == []

The fixture `browser` is one process for the whole session. It ends when its pipes close, also when the tests are
killed. Pages share nothing: each has storage of its own.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Commands that start Chromium: Debian's name is the first."""
HANGS = 300.0
"""Seconds without an answer after which the browser hangs: other processes may keep the machine busy."""
PIPES = 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null'
"""Chromium reads commands from descriptor 3 and writes answers to descriptor 4."""
FLAGS = (
    *("--headless", "--remote-debugging-pipe", "--no-startup-window", "--no-first-run", "--no-default-browser-check"),
    *("--disable-gpu", "--disable-software-rasterizer", "--disable-dev-shm-usage", "--disable-breakpad"),
    *("--disable-extensions", "--disable-component-update", "--disable-background-networking", "--disable-sync"),
    *("--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--password-store=basic"),
    *("--hide-scrollbars", "--mute-audio", "--force-color-profile=srgb", "--font-render-hinting=none", "--lang=en"),
    *("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"),
    "--disable-features=Translate,MediaRouter,OptimizationHints,AutofillServerCommunication",
)
GRANTED = ("audioCapture", "clipboardReadWrite", "clipboardSanitizedWrite")
"""Permissions that a user would be asked for."""
KEYS = {
    "Enter": ("Enter", 13, "\r"),
    "Space": (" ", 32, " "),
    "Tab": ("Tab", 9, ""),
    "Escape": ("Escape", 27, ""),
    "Backspace": ("Backspace", 8, ""),
    "Delete": ("Delete", 46, ""),
    "PageUp": ("PageUp", 33, ""),
    "PageDown": ("PageDown", 34, ""),
    "End": ("End", 35, ""),
    "Home": ("Home", 36, ""),
    "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "ArrowRight": ("ArrowRight", 39, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
}
"""Keys that have names: `key` of their events, code of Windows, and the text that they type."""
MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}
SETTLED = """async () => {
    await document.fonts.ready;
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
}"""
POINT = """(selector) => {
    const element = document.querySelector(selector);
    if (!element) return `no element is ${selector}`;
    element.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
    let above = null;
    for (const part of [element, ...element.querySelectorAll("*")])
        for (const box of part.getClientRects()) {
            const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
            const hit = document.elementFromPoint(x, y);
            if (hit && (element.contains(hit) || hit.contains(element) && hit.tagName === "LABEL")) return [x, y];
            above ??= hit;
        }
    return above ? `${selector} is covered by ${above.outerHTML.slice(0, 120)}` : `${selector} is not visible`;
}"""
BOX = """(selector) => {
    const element = document.querySelector(selector);
    if (!element) return `no element is ${selector}`;
    element.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
    const box = element.getBoundingClientRect();
    return [box.x, box.y, box.width, box.height];
}"""


class BrowserError(Exception):
    """A page threw, an element that should be clicked is not there, or the browser ended."""


def executable() -> str | None:
    """Path of the Chromium of this machine, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """A process of Chromium with a profile in a temporary folder, both of which end with the context."""

    def __init__(self, command: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mote-browser-", ignore_cleanup_errors=True)
        self.folder = Path(self._folder.name)
        self.sound = self.folder / "microphone.wav"
        """Played into the microphone from when a page opens it: write the file before that."""
        own = [f"--user-data-dir={self.folder / 'profile'}", f"--use-file-for-fake-audio-capture={self.sound}%noloop"]
        if os.geteuid() == 0:
            own.append("--no-sandbox")  # Chromium refuses to sandbox what root runs
        self._said = (self.folder / "stderr").open("wb")
        self._process = subprocess.Popen(
            ["sh", "-c", PIPES, command, *FLAGS, *own],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            start_new_session=True,
            env={**os.environ, "HOME": self._folder.name},
        )
        self._received = bytearray()
        self._messages: deque[dict[str, Any]] = deque()
        self._sent = 0
        self._pages: dict[str, Page] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the browser with all of its processes, and remove its profile."""
        with suppress(BrowserError, OSError):
            self.call("Browser.close")
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(20)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._said):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        self._folder.cleanup()

    def send(self, method: str, session: str | None = None, **parameters: object) -> int:
        """Send a command without waiting; the number of its answer."""
        self._sent += 1
        message: dict[str, object] = {"id": self._sent, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\0")
        self._process.stdin.flush()
        return self._sent

    def call(self, method: str, session: str | None = None, **parameters: object) -> dict[str, Any]:
        """Send a command and return its result; events that arrive meanwhile go to their pages."""
        number = self.send(method, session, **parameters)
        while True:
            message = self._receive()
            if message.get("id") == number:
                break
            if (page := self._pages.get(message.get("sessionId", ""))) and "method" in message:
                page.note(message["method"], message["params"])
        if "error" in message:
            raise BrowserError(f"{method}: {message['error']['message']}")
        result: dict[str, Any] = message["result"]
        return result

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        while not self._messages:
            if not select.select([pipe], [], [], HANGS)[0]:
                raise BrowserError(f"no answer of the browser in {HANGS:.0f} s")
            chunk = os.read(pipe, 1 << 20)
            if not chunk:
                said = (self.folder / "stderr").read_text(errors="replace")
                raise BrowserError(f"the browser ended: {said[-2000:]}")
            self._received += chunk
            if 0 in chunk:
                *whole, self._received = self._received.split(b"\0")
                self._messages.extend(json.loads(message) for message in whole)
        return self._messages.popleft()

    @contextmanager
    def open(
        self,
        source: Path | str,
        width: int = 1280,
        height: int = 800,
        *,
        scale: float = 1,
        dark: bool = False,
        print_media: bool = False,
        reduced_motion: bool = False,
        offline: bool = False,
    ) -> Iterator[Page]:
        """Show a file, or a page that is given as text, until the context ends.

        `width` and `height` are in CSS pixels; `scale` is how many pixels of a device each has. Zoom of 200 % in a
        window of 1280 pixels is `width=640, scale=2`.
        """
        context = self.call("Target.createBrowserContext")["browserContextId"]
        try:
            self.call("Browser.grantPermissions", permissions=GRANTED, browserContextId=context)
            target = self.call(
                "Target.createTarget",
                url="about:blank",
                browserContextId=context,
                newWindow=True,
                width=width,
                height=height,
            )["targetId"]
            session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            page = self._pages[session] = Page(self, session)
            try:
                for domain in ("Page", "Runtime", "Log", "Network"):
                    page.call(f"{domain}.enable")
                page.call("Emulation.setFocusEmulationEnabled", enabled=True)
                page.resize(width, height, scale)
                page.emulate(dark=dark, print_media=print_media, reduced_motion=reduced_motion)
                if offline:
                    page.offline()
                page.go(source)
                yield page
            finally:
                del self._pages[session]
        finally:
            with suppress(BrowserError):
                self.call("Target.disposeBrowserContext", browserContextId=context)


class Page:
    """A tab of a browser, and all that it said on the console or asked of the network."""

    def __init__(self, browser: Browser, session: str) -> None:
        self.browser = browser
        self.errors: list[str] = []
        """Errors and warnings of the console, exceptions that nobody caught, dialogs."""
        self.console: list[str] = []
        """Everything that was logged, with its level."""
        self.requests: list[str] = []
        """Addresses that the page asked for, beside its own and `data:` and `blob:` ones."""
        self._session = session
        self._address = ""
        self._loads = 0

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """A command of the DevTools protocol, for this page."""
        return self.browser.call(method, self._session, **parameters)

    def note(self, method: str, event: dict[str, Any]) -> None:
        """Keep what an event says."""
        match method:
            case "Page.loadEventFired":
                self._loads += 1
            case "Page.javascriptDialogOpening":
                self.errors.append(f"dialog: {event['message']}")
                self.browser.send("Page.handleJavaScriptDialog", self._session, accept=False)
            case "Runtime.exceptionThrown":
                self.errors.append(_thrown(event["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self._log(event["type"], " ".join(map(_shown, event["args"])))
            case "Log.entryAdded":
                self._log(event["entry"]["level"], f"{event['entry']['text']} {event['entry'].get('url', '')}".strip())
            case "Network.requestWillBeSent":
                address = event["request"]["url"]
                if address != self._address and not address.startswith(("data:", "blob:")):
                    self.requests.append(address)
            case "Network.webSocketCreated":
                self.requests.append(event["url"])

    def _log(self, level: str, text: str) -> None:
        self.console.append(f"{level}: {text}")
        if level in ("error", "warning", "assert"):
            self.errors.append(f"{level}: {text}")

    def go(self, source: Path | str) -> None:
        """Load a file or a text of HTML or SVG, until it is shown."""
        if isinstance(source, str):
            name = "page.svg" if source.lstrip().startswith(("<svg", "<?xml")) else "page.html"
            path = Path(tempfile.mkdtemp(dir=self.browser.folder)) / name
            path.write_text(source, encoding="utf-8")
        else:
            path = source.resolve(strict=True)
        self._address = path.as_uri()
        loads = self._loads
        if error := self.call("Page.navigate", url=self._address).get("errorText"):
            raise BrowserError(f"{path}: {error}")
        end = time.monotonic() + HANGS
        while self._loads == loads:
            if time.monotonic() > end:
                raise BrowserError(f"{path} does not load")
            self.evaluate("1")
        self.settle()

    def settle(self) -> None:
        """Wait until fonts are there and two frames were drawn."""
        self.evaluate(f"({SETTLED})()")

    def evaluate(self, script: str, *arguments: object) -> Any:
        """The value of an expression, or of a function that is called with `arguments`; promises are awaited."""
        expression = f"({script})({', '.join(map(json.dumps, arguments))})" if arguments else script
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True
        )
        if "exceptionDetails" in answer:
            raise BrowserError(_thrown(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait(self, script: str, *arguments: object) -> Any:
        """The first value of an expression or function that is true; it is asked for in each frame."""
        value = f"({script})({', '.join(map(json.dumps, arguments))})" if arguments else f"({script})"
        end = time.monotonic() + HANGS
        while time.monotonic() < end:
            if result := self.evaluate(value):
                return result
            self.evaluate("new Promise(resolve => setTimeout(resolve, 10))")
        raise BrowserError(f"never true: {script}")

    def resize(self, width: int, height: int = 800, scale: float = 1) -> None:
        """Change the size of the window, in CSS pixels, and the pixels of the device that each has."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )
        if self._loads:
            self.settle()

    def emulate(self, *, dark: bool = False, print_media: bool = False, reduced_motion: bool = False) -> None:
        """Change what the user prefers, or show the page as it is printed."""
        features = {
            "prefers-color-scheme": "dark" if dark else "light",
            "prefers-reduced-motion": "reduce" if reduced_motion else "no-preference",
        }
        self.call(
            "Emulation.setEmulatedMedia",
            media="print" if print_media else "screen",
            features=[{"name": name, "value": value} for name, value in features.items()],
        )
        if self._loads:
            self.settle()

    def offline(self) -> None:
        """Cut the network off."""
        self.call(
            "Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1
        )

    def click(self, selector: str, times: int = 1) -> None:
        """Click what a user would hit there: an element that another one covers is an error."""
        x, y = self._place(POINT, selector)
        for count in range(1, times + 1):
            self._mouse("mousePressed", x, y, buttons=1, clickCount=count)
            self._mouse("mouseReleased", x, y, clickCount=count)
        self.settle()

    def hover(self, selector: str) -> None:
        """Move the mouse over an element."""
        self._mouse("mouseMoved", *self._place(POINT, selector))
        self.settle()

    def drag(self, selector: str, *points: tuple[float, float]) -> None:
        """Press the mouse in an element, move it from point to point, and release it at the last one. Points are
        fractions of the element's width and height."""
        x, y, width, height = self._place(BOX, selector)
        places = [(x + width * across, y + height * down) for across, down in points]
        self._mouse("mouseMoved", *places[0])
        self._mouse("mousePressed", *places[0], buttons=1, clickCount=1)
        for place in places[1:]:
            self._mouse("mouseMoved", *place, buttons=1)
        self._mouse("mouseReleased", *places[-1], clickCount=1)
        self.settle()

    def wheel(self, selector: str, down: float) -> None:
        """Turn the wheel of the mouse over an element, by pixels."""
        x, y = self._place(POINT, selector)
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=down)
        self.settle()

    def _mouse(self, kind: str, x: float, y: float, buttons: int = 0, **more: object) -> None:
        pressed = "none" if kind == "mouseMoved" and not buttons else "left"
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=pressed, buttons=buttons, **more)

    def _place(self, script: str, selector: str) -> list[float]:
        place = self.evaluate(script, selector)
        if isinstance(place, str):
            raise BrowserError(place)
        numbers: list[float] = place
        return numbers

    def key(self, name: str) -> None:
        """Press a key: "Tab", "Shift+Tab", "ArrowDown", "Space", "a", "Control+a"."""
        *held, last = name.split("+") if len(name) > 1 else [name]
        key, code, text = KEYS.get(last, (last, ord(last[0].upper()), last))
        modifiers = sum(MODIFIERS[modifier] for modifier in held)
        common = {"key": key, "code": last, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        typed = {"text": text} if text and not {"Control", "Alt", "Meta"} & set(held) else {}
        self.call("Input.dispatchKeyEvent", type="keyDown" if typed else "rawKeyDown", **common, **typed)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def keys(self, name: str, times: int) -> None:
        """Press a key many times, without waiting in between."""
        key, code, _ = KEYS[name]
        common = {"key": key, "code": name, "windowsVirtualKeyCode": code}
        for _ in range(times - 1):
            self.browser.send("Input.dispatchKeyEvent", self._session, type="rawKeyDown", **common)
            self.browser.send("Input.dispatchKeyEvent", self._session, type="keyUp", **common)
        self.key(name)

    def write(self, text: str) -> None:
        """Type a text into what has the focus."""
        self.call("Input.insertText", text=text)

    def drop(self, selector: str, *files: Path) -> None:
        """Drop files onto an element, as from a file manager."""
        x, y = self._place(POINT, selector)
        data = {"items": [], "files": [str(path.resolve(strict=True)) for path in files], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)
        self.settle()

    def choose(self, selector: str, *files: Path) -> None:
        """Choose files in an `input` of files, as in the dialog that it opens."""
        chosen = self.call("Runtime.evaluate", expression=f"document.querySelector({json.dumps(selector)})")["result"]
        if "objectId" not in chosen:
            raise BrowserError(f"no element is {selector}")
        paths = [str(path.resolve(strict=True)) for path in files]
        self.call("DOM.setFileInputFiles", files=paths, objectId=chosen["objectId"])
        self.settle()

    def clipboard(self) -> str:
        """The text on the clipboard."""
        text: str = self.evaluate("navigator.clipboard.readText()")
        return text

    def text(self, selector: str = "body") -> str:
        """The text of an element as it is shown."""
        text = self.evaluate("(selector) => document.querySelector(selector)?.innerText ?? null", selector)
        if text is None:
            raise BrowserError(f"no element is {selector}")
        return str(text)

    def screenshot(self, path: Path, *, whole: bool = True) -> Path:
        """Write a PNG of the whole page, or of the part that the window shows."""
        path.write_bytes(self.picture(whole=whole))
        return path

    def picture(self, *, whole: bool = True) -> bytes:
        """A PNG of the whole page, or of the part that the window shows."""
        clip = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}
        shot = self.call(
            "Page.captureScreenshot", format="png", captureBeyondViewport=whole, optimizeForSpeed=True, **clip
        )
        return base64.b64decode(shot["data"])

    def pdf(self, path: Path) -> Path:
        """Print the page on A4."""
        printed = self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=True)
        path.write_bytes(base64.b64decode(printed["data"]))
        return path


def _shown(value: dict[str, Any]) -> str:
    return str(value.get("value", value.get("description", value["type"])))


def _thrown(details: dict[str, Any]) -> str:
    return str(
        details.get("exception", {}).get("description") or details.get("exception", {}).get("value") or details["text"]
    )
