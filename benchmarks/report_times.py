"""Time to make the report of a model and to open it: CPU seconds and wall time of each stage, bytes of the page, and
milliseconds until Chromium has read it and has drawn it first (`tests/helpers/browser.py`).

    PYTHONPATH=src:models:. python benchmarks/report_times.py models/keywords.tflite --mobilenet --target cortex-m4

Each model is measured in a process of its own with an empty cache of objects. CPU seconds include the compilers and
the emulator; wall time is only worth something on an idle machine. With `--stages` there are CPU seconds of each stage,
and stages run one after another: a report measures a model on its target while it explores other plans.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.helpers.browser import Browser, executable

import mcunet_v2
from mote.ui.reporter import html, report, subject
from mote.ui.reporter.section import Section
from mote.ui.reporter.sections import tryit

MOBILENET = "MobileNetV2 224"
STAGES = {
    "compile": (report, "compile"),
    "explore": (report, "explore_around"),
    "run": (subject, "run"),
    "profile": (subject, "profile"),
    "wasm": (tryit, "web_module"),
    "page": (report, "page"),
}
"""The functions that are the stages; the data of sections is the stage between, and imports are the start-up."""
POOL = "thread_pool"
"""The function that makes the executor of a report."""
START, SECTIONS, REST = "start-up", "sections", "rest"
SHOWN = (START, "compile", "explore", "run", "profile", SECTIONS, "wasm", "page", REST)
OPENINGS = 3
"""How often a page is opened: the fastest counts, since other processes slow each down."""
PAINT = """new Promise(resolve => new PerformanceObserver((list) => resolve(list.getEntries()[0].startTime))
    .observe({type: "paint", buffered: true}))"""
READY = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"


def used() -> float:
    """CPU seconds of this process and of those that it has run."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@dataclass
class Clock:
    """CPU seconds and wall seconds of stages; what a stage calls counts for the inner one."""

    seconds: dict[str, tuple[float, float]] = field(default_factory=dict)
    inner: list[tuple[float, float]] = field(default_factory=list)

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with its time added to a stage."""

        def run(*given: Any, **named: Any) -> Any:
            begin = used(), time.perf_counter()
            self.inner.append((0.0, 0.0))
            try:
                return function(*given, **named)
            finally:
                taken = used() - begin[0], time.perf_counter() - begin[1]
                within = self.inner.pop()
                self.add(stage, taken[0] - within[0], taken[1] - within[1])
                if self.inner:
                    outer = self.inner[-1]
                    self.inner[-1] = outer[0] + taken[0], outer[1] + taken[1]

        return run

    def add(self, stage: str, cpu: float, wall: float) -> None:
        """Add CPU seconds and wall seconds to a stage."""
        before = self.seconds.get(stage, (0.0, 0.0))
        self.seconds[stage] = before[0] + cpu, before[1] + wall


class AtOnce(Executor):
    """Runs what is submitted before anything else."""

    def __init__(self, workers: int) -> None:
        del workers

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(function(*given, **named))
        return done


def measure(model: Path, output: Path, target: str, started: float, *, apart: bool) -> None:
    """Write the report of a model, and print the seconds of its stages as JSON; of all of it unless `apart`."""
    clock = Clock()
    clock.add(START, used(), time.time() - started)
    if apart:
        setattr(report, POOL, AtOnce)
        for stage, (module, name) in STAGES.items():
            setattr(module, name, clock.timed(stage, getattr(module, name)))
        html.SECTIONS = tuple(_timed(clock, section) for section in html.SECTIONS)
    report.report(model, target=target).write(output)
    spent = [sum(each) for each in zip(*clock.seconds.values(), strict=True)]
    clock.add(REST, used() - spent[0], time.time() - started - spent[1])
    print(json.dumps(clock.seconds))


def _timed(clock: Clock, section: Section) -> Section:
    each, whole = (f and clock.timed(SECTIONS, f) for f in (section.each, section.whole))
    return replace(section, each=each, whole=whole)


def stages(model: Path, output: Path, target: str, *, apart: bool) -> dict[str, tuple[float, float]]:
    """CPU seconds and wall seconds of each stage, in a new process with an empty cache of objects."""
    with TemporaryDirectory() as cache:
        command = [sys.executable, __file__, model, "--target", target, "--one", output, str(time.time())]
        command += ["--stages"] if apart else []
        environment = os.environ | {"XDG_CACHE_HOME": cache}
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    seconds: dict[str, tuple[float, float]] = json.loads(done.stdout.splitlines()[-1])
    return seconds


def opened(path: Path) -> tuple[float, float] | None:
    """Milliseconds from opening a page until Chromium has read it and run its scripts, and until it has drawn it first;
    None without a browser."""
    if not (command := executable()):
        return None
    times = []
    with Browser(command) as browser:
        for _ in range(OPENINGS):
            with browser.open(path) as page:
                times.append((float(page.evaluate(READY)), float(page.evaluate(PAINT))))
    return min(ready for ready, _ in times), min(paint for _, paint in times)


def main(arguments: Sequence[str] | None = None) -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("models", nargs="*", type=Path, metavar="MODEL", help="a model's file")
    p.add_argument("--mobilenet", action="store_true", help=f"also {MOBILENET} with random weights")
    p.add_argument("--target", default="cortex-m4", help="the target (default: cortex-m4)")
    p.add_argument("--stages", action="store_true", help="CPU seconds of each stage, one after another")
    p.add_argument("--output", type=Path, metavar="FOLDER", help="keep the reports there")
    p.add_argument("--one", nargs=2, metavar=("FILE.html", "TIME"), help=argparse.SUPPRESS)
    options = p.parse_args(arguments)
    if options.one:
        measure(options.models[0], Path(options.one[0]), options.target, float(options.one[1]), apart=options.stages)
        return
    columns = ("model", "CPU s", *(SHOWN if options.stages else ()), "wall s", "bytes", "ready ms", "painted ms")
    print(f"| {' | '.join(columns)} |\n|---{'|--:' * (len(columns) - 1)}|")
    with TemporaryDirectory() as temporary:
        folder = options.output or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        named = {path.stem: path for path in options.models}
        if options.mobilenet:
            named[MOBILENET] = Path(temporary) / "mobilenet_v2_224.tflite"
            named[MOBILENET].write_bytes(mcunet_v2.build(mcunet_v2.MOBILENET_V2))
        for name, path in named.items():
            print(row(name, path, folder / f"{path.stem}.html", options.target, apart=options.stages), flush=True)


def row(name: str, model: Path, output: Path, target: str, *, apart: bool) -> str:
    """A row of the table."""
    seconds = stages(model, output, target, apart=apart)
    cpu, wall = (sum(each) for each in zip(*seconds.values(), strict=True))
    times = opened(output)
    cells = [name, f"{cpu:.1f}", *(f"{seconds.get(s, (0.0, 0.0))[0]:.1f}" for s in SHOWN if apart)]
    cells += [f"{wall:.1f}", f"{output.stat().st_size:,}", *(f"{t:.0f}" for t in times or ())]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
