"""The table of options: one row makes an option of Python, of the command line, of project files and of the docs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import option_tables
from mote.base.errors import MoteError
from mote.base.option import OptionRow, RestrictedUse, check_use
from mote.compiler.settings import TABLE, make_settings

ROOT = Path(__file__).parents[2]
ROW = """\
    sprinkle: int = option(3, "generated C", "N", least=1, most=9, unit="grains", image="an image is plain", help=
        "grains of sugar on the C (default: 3)", needs={"aligned": "only tidy C is sweet"})
"""
ADDED = """
import importlib.util, io, json, sys
from contextlib import redirect_stdout
from pathlib import Path

spec = importlib.util.find_spec("mote.compiler.settings")
settings = importlib.util.module_from_spec(spec)
sys.modules["mote.compiler.settings"] = settings
before, place, after = Path(spec.origin).read_text(encoding="utf-8").partition("    check_flash: bool = option(")
assert place
exec(compile(before + sys.argv[1] + place + after, spec.origin, "exec"), vars(settings))

import mote, option_tables, project_page
from mote.ui.cli import main
from mote.compiler.packer import pack
from mote.ui.project.project_file import find_project

def printed(*words):
    out = io.StringIO()
    with redirect_stdout(out):
        main(list(words))
    return out.getvalue()

def refused(**options):
    try:
        settings.make_settings(**options)
    except mote.MoteError as error:
        return str(error)

Path("mote.toml").write_text('[models.a]\\nfile = "a.tflite"\\naligned = true\\nsprinkle = 5\\n')
try:
    pack("a.tflite", settings.Settings(settings.make_settings().target, sprinkle=4, aligned=True))
except mote.MoteError as error:
    packed = str(error)
print(json.dumps({
    "help": printed("compile", "--help"),
    "pack": printed("pack", "--help"),
    "completion": printed("completion", "bash"),
    "keywords": option_tables.keywords(),
    "docs": option_tables.tables() + project_page.tables(),
    "project": find_project().entries()[0].recipe.settings.sprinkle,
    "python": settings.make_settings(sprinkle=4, aligned=True).sprinkle,
    "wrong": [refused(sprinkle=4), refused(sprinkle=0), refused(sprinkle="two"), refused(sprinkel=4)],
    "packed": packed,
}))
"""


def test_an_option_is_one_row(tmp_path: Path) -> None:
    """A row that is put into the table shows wherever options do, and is refused as it says."""
    path = os.pathsep.join(map(str, (ROOT / "src", ROOT, ROOT / "benchmarks")))
    done = subprocess.run(
        [sys.executable, "-c", ADDED, ROW],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "100"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert "--sprinkle N            grains of sugar on the C (default: 3)" in seen["help"]
    generated = seen["help"].partition("generated C:")[2].partition("device:")[0]
    assert "--sprinkle" in generated and "--sprinkle" not in seen["pack"] and "--sprinkle" in seen["completion"]
    assert "    sprinkle: int\n" in seen["keywords"]
    assert "| `sprinkle` | `--sprinkle N` | `int` in grains | grains of sugar" in seen["docs"]
    assert (
        "only with `aligned`; not for images: an image is plain" in seen["docs"]
        and "| `sprinkle` | N |" in seen["docs"]
    )
    assert (seen["project"], seen["python"]) == (5, 4)
    needs, least, whole, guess = seen["wrong"]
    assert "only tidy C is sweet" in needs and "0 is out of range" in least and "give 1 to 9 grains" in least
    assert "'two' is not an integer" in whole and "did you mean: sprinkle" in guess
    assert seen["packed"].startswith("option sprinkle: is for generated C: an image is plain")


def test_files_that_follow_from_the_table_are_up_to_date() -> None:
    how = "PYTHONPATH=src python benchmarks/option_tables.py --write"
    assert option_tables.GIVEN.read_text(encoding="utf-8") == option_tables.keywords(), how
    page = option_tables.PAGE.path.read_text(encoding="utf-8")
    assert option_tables.PAGE.with_table(option_tables.tables()) == page, how


def test_reasons_name_options_that_there_are() -> None:
    for row in TABLE.values():
        assert {*row.needs, *row.excludes} <= set(TABLE), row.name


WRONG = {
    "int": 2,
    "bool": True,
    "tuple[str, ...]": ("a",),
}
"""A value other than the default, by type."""


@pytest.mark.parametrize("use", RestrictedUse)
def test_every_option_that_a_use_does_not_have_is_refused(use: RestrictedUse) -> None:
    """By its name and its reason, and only where it is stated."""
    usual = make_settings()
    check_use(TABLE, usual, use)
    for row in TABLE.values():
        if use in row.without:
            with pytest.raises(MoteError, match=rf"option {row.name}: ") as error:
                check_use({row.name: row}, Stating(row), use)
            why = row.without[use]
            assert (why if isinstance(why, str) else why[0]) in str(error.value) and error.value.remedy


class Stating:
    """Settings that state one option."""

    def __init__(self, row: OptionRow) -> None:
        setattr(self, row.name, row.choices[-1] if row.choices else WRONG.get(row.type, "stated"))
