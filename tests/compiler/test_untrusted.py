"""Text that others wrote stays text: names of layers, targets, memories and files cannot become C, commands or escape
sequences."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from mote.base.errors import MoteError
from mote.base.text import did_you_mean, printable
from mote.compiler.emit.c.c import Case, Comment, Define, Noted, Switch, printed
from mote.compiler.emit.c.names import LONGEST, TAKEN, c_prefix
from mote.compiler.kernels import cost
from mote.compiler.line import compile
from mote.frontends.tflite.writer import Writer
from mote.ui.cli import main
from tests.helpers.support import needs

DIGITS = Path(__file__).parents[2] / "models" / "digits.tflite"
ENDS = "*/ #error a /* b"
HOSTILE = (
    ENDS,
    "**//**/",
    "/*/",
    "???/",
    "a\\",
    "x\n#error b\n",
    "\x1b[2J\x07",
    "\u202eabc\u2028d",
    "$(error c) `id` %n",
    "</title><x>",
)
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wcomment", "-Wtrigraphs", "-pedantic", "-Werror"]


def hostile_model() -> bytes:
    w = Writer("hostile")
    last = w.input(HOSTILE[0], (1, 4), "int8", scale=0.1)
    numbers = w.const("numbers", np.arange(4, dtype=np.int8), 0.1)
    for name in HOSTILE[1:]:
        y = w.tensor(name, (1, 4), "int8", scale=0.1)
        w.op("ADD", [last, numbers], [y])
        last = y
    w.output(last)
    return w.finish()


@pytest.fixture
def hostile(tmp_path: Path) -> tuple[str, str]:
    """A model and a target whose every text tries to be something else."""
    target = tmp_path / "board.toml"
    model = tmp_path / "a??\\ \x1b[2J\n#error d\n.tflite"
    model.write_bytes(hostile_model())
    memory = f'[[memory]]\nname = "{ENDS}"\nkind = "ram"\nsize = "64K"\nsection = ".fast"\n'
    second = memory.replace("a /* b", "c") + "wait = 1\n"
    target.write_text(f'extends = "cortex-m4"\nname = "{ENDS}"\ndescription = "{ENDS}"\n{memory}{second}')
    return str(model), str(target)


@pytest.mark.parametrize("options", [{}, {"single_file": True, "caller_arena": True}])
def test_nothing_in_a_project_is_obeyed(hostile: tuple[str, str], options: dict[str, bool], tmp_path: Path) -> None:
    needs("gcc", "make")
    model, target = hostile
    compiled = compile(model, target=target, name="odd", shrink=False, **options)
    compiled.write(tmp_path / "out")
    for command in (["gcc", *FLAGS, "-c", "odd.c", "-o", "odd.o"], ["make", "test"]):
        done = subprocess.run(command, cwd=tmp_path / "out", capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    for text in compiled.project.files.values():
        assert not [c for c in text if c != "\n" and c != "\t" and not c.isprintable()]


def test_comments_end_where_they_end() -> None:
    for text in HOSTILE:
        lines = [Comment(text), Noted(Define("X", 1), text), Noted("x", text), Switch("x", [Case(0, text, [])])]
        for line in lines:
            c = printed([line])
            assert c.count("/*") == c.count("*/") == 1 and "??" not in c and c.isascii()
            assert not any(part.endswith("\\") for part in c.split("\n"))


@pytest.mark.parametrize("command", [("inspect",), ("plan",), ("compile", "-o", "OUT"), ("plan", "--layer", "absent")])
def test_a_terminal_is_not_written_to_by_names(
    command: tuple[str, ...], hostile: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, target = hostile
    options = [o.replace("OUT", str(tmp_path / "out")) for o in command[1:]]
    main([command[0], model, *options, *([] if command[0] == "inspect" else ["-t", target, "--no-shrink"])])
    said = "".join(capsys.readouterr())
    assert said and not [c for c in said if c != "\n" and not c.isprintable()]


def test_names_of_models() -> None:
    for name in (*TAKEN, "STDINT", "Int", "mote_common", "Mote_x", "3-a b", "main", "m"):
        usable, why = c_prefix(name)
        assert usable.startswith("model_") and usable.isidentifier() and why, name
        assert c_prefix(usable) == (usable, ""), name
    for name in ("kws", "digits2", "a__b", "Model", "stdint_x", "integer"):
        assert c_prefix(name) == (name, "")
    for name, usable in (("a-b", "a_b"), ("_x", "x"), ("größe", "gr__e"), ("", "model"), ("--", "model")):
        assert c_prefix(name)[0] == usable and c_prefix(name)[1]
    assert len(c_prefix("x" * 300)[0]) == LONGEST and "64" in c_prefix("x" * 300)[1]


def test_a_model_that_is_called_as_a_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its folder may be searched for headers before the system's."""
    needs("gcc")
    shutil.copy(DIGITS, tmp_path / "string.tflite")
    assert main(["compile", str(tmp_path / "string.tflite"), "-o", str(tmp_path / "out")]) == 0
    assert "name: model_string, since 'string' is the name of a header" in capsys.readouterr().out
    command = ["gcc", "-I.", *FLAGS, "selftest/selftest.c", "model_string.c", "-lm", "-o", "program"]
    subprocess.run(command, cwd=tmp_path / "out", check=True)
    with pytest.raises(MoteError, match=r"option name: 'string' is the name of a header.*\n.*use 'model_string'"):
        compile(DIGITS, name="string")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "[" * 9999,
        '{"unit": 3, "measured": "", "families": {}}',
        '{"families": {"a": {"b": NaN}}}',
        '{"families": {"a": {"b": 1e300}}}',
        '{"families": {"a": [1]}}',
    ],
)
def test_a_table_of_costs_that_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text(text)
    with pytest.raises(MoteError, match="is no table of costs"):
        cost.load(str(tmp_path / "odd.json"))


def test_text() -> None:
    assert printable("größe µ") == "größe µ" and printable("a\x1b[m\n\u202e") == r"a\x1b[m\n\u202e"
    assert printable("a\n\tb\r", keep="\n\t") == "a\n\tb\\r"
    assert did_you_mean("cortexm4", ["cortex-m4", "host"]) == "did you mean: cortex-m4? "
    assert did_you_mean("x", ["cortex-m4"]) == ""
