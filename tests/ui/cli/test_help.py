"""Help: grouped, with defaults and examples, in lines that fit a terminal."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

import pytest

from mote.ui.cli import COMMANDS, help, options_of, parser
from tests.ui.cli.test_cli import ROOT, mote


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_mote_alone_says_what_to_try(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = mote(capsys)
    assert status == 0 and err == "" and 5 < out.count("\n") < 15
    for line in out.splitlines():
        if line.startswith("  mote "):
            words = shlex.split(line.partition("   ")[0].split("  ")[1])[1:]
            parser(words[0]).parse_args(words)


def test_all_commands_are_in_one_group(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = mote(capsys, "--help")
    assert status == 0 and "more:" not in out
    assert sorted(name for names in help.COMMAND_GROUPS.values() for name in names) == sorted(COMMANDS)
    column = max(map(len, COMMANDS)) + 2
    for name, line in COMMANDS.items():
        assert f"\n  {name.ljust(column)}{line}\n" in out
    assert f"\n  {'--version'.ljust(column)}print" in out


@pytest.mark.quick_cases(5)
@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Options are in groups, defaults are said, and the examples are understood."""
    status, out, _ = mote(capsys, command, "--help")
    assert status == 0 and out.startswith(f"usage: mote {command}") and "\noptions:\n" not in out
    for action in options_of(command)._actions:
        for name in action.option_strings:
            assert name in out
        if action.default not in (None, "", False, argparse.SUPPRESS, [], ()) and action.nargs != 0:
            text = options_of(command)._get_formatter()._expand_help(action)
            assert "default" in text, action.option_strings
    examples = [line for line in out.partition("\nexamples:\n")[2].splitlines() if line.startswith("  mote ")]
    assert examples and len(examples) == len(help.EXAMPLES[command])
    for line in examples:
        words = shlex.split(line.partition(" > ")[0])[1:]
        assert words[0] == command
        parser(command).parse_args(words)


def test_an_option_that_suggests_a_file_names_the_one_that_takes_it(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = mote(capsys, "run", "x.tflite", "--input", "x.npy")
    assert status == 2 and "choose from whole, rows; a file of inputs is for --data of `mote run`" in err


def test_an_unknown_option_shows_a_short_usage(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = mote(capsys, "compile", "x.tflite", "--nonsense")
    assert status == 2 and err.splitlines()[0] == "usage: mote compile MODEL [MODEL ...] -o DIR_OR_ZIP|KIND [options]"


def test_every_file_to_write_can_be_named_with_o(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`mote convert` takes it behind the model, too; but one of both."""
    for command in COMMANDS:
        names = [name for a in options_of(command)._actions if a.dest == "output" for name in a.option_strings]
        assert not names or {"-o", "--output"} <= set(names), command
    for words in (("MODEL", "FILE"), ("MODEL", "-o", "FILE"), ("-o", "FILE", "MODEL"), ("--output", "FILE", "MODEL")):
        assert vars(parser("convert").parse_args(["convert", *words]))["output"] == "FILE"
    for words in (("MODEL",), ("MODEL", "FILE", "-o", "OTHER")):
        status, _, err = mote(capsys, "convert", *words)
        assert status == 2 and err.startswith("usage: mote convert MODEL (FILE.tflite | -o FILE.tflite) [options]")
    status, _, _ = mote(capsys, "convert", "models/digits.onnx", "--no-verify", "-o", str(tmp_path / "x.tflite"))
    assert status == 0 and (tmp_path / "x.tflite").exists()
