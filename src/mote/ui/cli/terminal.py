"""The terminal: how wide it is, colour, folded lines, and progress. Colour and progress bars are those of `rich`, which
is imported only where there is a terminal to show them."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from mote.base.progress import Say, duration, silent
from mote.base.text import printable

WIDTH = 80
"""Columns where nothing says how many there are: in a pipe, say."""
NARROWEST = 40
"""Columns below which nothing is folded or left out any more."""
UNLIMITED = 1_000_000
"""The width that `--wide` asks for."""
ANSI = re.compile("\033\\[[0-9;]*m")
COUNT = re.compile(r"(?P<what>.*?)[:,]? *(?P<done>\d[\d,]*) of (?P<of>\d[\d,]*)(?P<rest>.*)")
"""A count in a line of progress: 3 of 10."""
LABEL = re.compile(r" *[A-Za-z][\w ]{0,12}: +")
"""The beginning of a line to whose end the lines that it is folded into are indented."""
QUOTED, HELD = re.compile("`[^`]*`"), "\0"
"""Text that is not broken, and the character that stands for its spaces meanwhile."""
_options = {"wide": False}


def settle(*, wide: bool) -> None:
    """Set what the command line says of the width."""
    _options["wide"] = wide


def width() -> int:
    """Columns that lines may take: those of the terminal or of COLUMNS, else 80; with `--wide` any number."""
    return UNLIMITED if _options["wide"] else max(NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)


def lively(stream: TextIO) -> bool:
    """Whether a stream is a terminal that is to show colour: NO_COLOR and TERM=dumb say that it is not."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled(text: str, style: str) -> str:
    """Text in a style of `rich` on a terminal, plain elsewhere."""
    text = printable(text)
    if not text or not lively(sys.stdout):
        return text
    from rich.color import ColorSystem
    from rich.style import Style

    return Style.parse(style).render(text, color_system=ColorSystem.STANDARD)


def bold(text: str) -> str:
    return styled(text, "bold")


def green(text: str) -> str:
    return styled(text, "green")


def red(text: str) -> str:
    return styled(text, "red")


def dim(text: str) -> str:
    return styled(text, "dim")


def seen(text: str) -> int:
    """The columns that a text takes, without what colours it."""
    return len(ANSI.sub("", text)) if "\033" in text else len(text)


def unbroken(text: str) -> str:
    """A text that `folded` does not break, such as a verdict."""
    return text.replace(" ", HELD)


def show(text: str = "", indent: int | None = None) -> None:
    """Print a line, folded at the width of the terminal."""
    print("\n".join(folded(text, width(), indent)))


def folded(text: str, columns: int, indent: int | None = None) -> list[str]:
    """A line as lines of at most so many columns, those after the first indented: behind a label that it begins with,
    else by two spaces more. What stands in backticks and what has no spaces is never broken: commands and paths are
    there to be copied."""
    if seen(text) <= columns:
        return [text.replace(HELD, " ")]
    label = LABEL.match(ANSI.sub("", text))
    spaces = len(text) - len(text.lstrip(" "))
    margin = " " * (indent if indent is not None else label.end() if label else spaces + 2)
    lines = [""]
    for word in re.findall(" *[^ ]+", QUOTED.sub(lambda match: match[0].replace(" ", HELD), text)):
        if lines[-1] and seen(lines[-1] + word) > columns:
            lines.append(margin + word.lstrip(" "))
        else:
            lines[-1] += word
    return [line.replace(HELD, " ") for line in lines]


@contextmanager
def progress(what: str) -> Iterator[Say]:
    """Say on a terminal what is being done and how much of it is left, and wipe it away after. The callback that this
    yields says something else instead; a count in it, such as 3 of 10, is shown as a bar."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, Task, TextColumn, TimeRemainingColumn
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    class CountBar(BarColumn):
        """A bar of what is done, where it is known how much there is to do."""

        def render(self, task: Task) -> ProgressBar:
            return super().render(task) if task.total is not None else ProgressBar(width=0)

    class TimeLeft(TimeRemainingColumn):
        """The time that is left, in words."""

        def render(self, task: Task) -> Text:
            left = task.time_remaining
            return Text("" if left is None or task.finished else f"about {duration(left)} left", style="cyan")

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        CountBar(bar_width=20),
        TextColumn("{task.fields[count]}", markup=False),
        TimeLeft(),
    )
    console = Console(file=sys.stderr)
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task, shown = bar.add_task(what, total=None, count=""), what

        def say(text: str) -> None:
            nonlocal shown
            told = printable(text).rstrip(". ")
            counted = COUNT.fullmatch(told)
            doing = counted["what"] if counted else told
            if doing != shown:
                shown = doing
                bar.reset(task, total=None, description=doing, count="")
            if counted:
                done, of = (int(counted[name].replace(",", "")) for name in ("done", "of"))
                bar.update(task, completed=done, total=of, count=f"{counted['done']} of {counted['of']}")

        yield say
