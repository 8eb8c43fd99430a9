"""Command lines that cannot be understood: an error like any other, with what was probably meant."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from mote.base.errors import MoteError
from mote.base.text import did_you_mean
from mote.ui.cli.help import HelpFormatter

MISTAKEN = {"input": "; a file of inputs is for --data of `mote run`, `mote profile` or `mote verify`"}
"""Options whose names suggest something else, and the one that is meant then."""


class UsageError(MoteError):
    """A command line that means nothing; `usage` is what would."""

    def __init__(self, reason: str, *, command: str, usage: str) -> None:
        super().__init__(reason, where=command, remedy=f"`{command} --help` explains the options")
        self.usage = usage

    def __str__(self) -> str:
        return f"{self.usage}{self.where}: error: {self.reason}"


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises its errors, and knows what is like an option that it does not know."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": HelpFormatter, **options})

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, command=self.prog, usage=self.format_usage())

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            options = [option for action in self._actions for option in action.option_strings]
            guesses = "".join(did_you_mean(word.partition("=")[0], options) for word in unknown)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{_hint(guesses)}")
        return parsed, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices: Iterable[Any] | None = action.choices
        if choices is not None and value not in choices:
            guess = did_you_mean(str(value), map(str, choices))
            listed = ", ".join(map(str, choices)) + MISTAKEN.get(action.dest, "")
            raise argparse.ArgumentError(action, f"invalid choice: {value!r} ({guess}choose from {listed})")


def _hint(guesses: str) -> str:
    return f" ({guesses.strip()})" if guesses else ""


def wants_json(given: Sequence[str]) -> bool:
    """Whether a command line asks for JSON, even one that cannot be understood; options may be shortened."""
    return any(len(word) > 2 and "--json".startswith(word) for word in given)
