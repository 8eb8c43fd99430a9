"""What `import mote` and `mote --help` show, and what they cost."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import mote
from mote.cli import COMMANDS


DIGITS = Path(__file__).parents[1] / "models" / "digits.tflite"


def loaded_by(statement: str) -> set[str]:
    """Names of the modules that a fresh interpreter has loaded after a statement."""
    ask = f"import sys\ntry:\n    {statement}\nfinally:\n    print('\\nloaded:', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("loaded:")[2].split())


def test_help_imports_no_command() -> None:
    """Reading models, NumPy and the kernels take a second; the list of commands needs none of them."""
    loaded = loaded_by("from mote.cli import main; main(['--help'])")
    assert "numpy" not in loaded
    assert {m for m in loaded if m.startswith("mote.cli.")} == {"mote.cli.output", "mote.cli.usage"}


def test_a_command_imports_no_other() -> None:
    loaded = loaded_by("from mote.cli import main; main(['compile', '--help'])")
    assert "mote.cli.compile" in loaded and "mote.cli.quantize" not in loaded


def test_every_command_has_its_module() -> None:
    modules = {f.name.removesuffix(".py").replace("_", "-") for f in (files("mote") / "cli").iterdir()}
    assert set(COMMANDS) <= modules


def test_dir_lists_what_there_is() -> None:
    assert set(dir(mote)) == {*mote.__all__, "quantize"}
    for name in dir(mote):
        assert getattr(mote, name) is not None


def test_results_are_shown_in_a_line() -> None:
    compiled = mote.compile(DIGITS, target="cortex-m4")
    assert repr(compiled).startswith("<Compiled 'digits' for cortex-m4: 8 operators, arena ")
    image = mote.pack(DIGITS)
    objects = (
        compiled,
        compiled.plan,
        compiled.source,
        compiled.project,
        compiled.model,
        image,
        mote.Interpreter(DIGITS),
    )
    for shown in map(repr, (*objects, mote.compile_shared([DIGITS]))):
        assert len(shown) < 1000 and "\n" not in shown


def test_types_are_published() -> None:
    assert (files("mote") / "py.typed").is_file()
