"""What `import mote` and `mote --help` show, and what they cost."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

import pytest

import mote
from mote.base import extras
from mote.base.errors import MoteError
from mote.ui.cli import COMMANDS
from tests.helpers.support import emulated

ROOT = Path(__file__).parents[3]
DIGITS = ROOT / "models" / "digits.tflite"


def loaded_by(statement: str) -> set[str]:
    """Names of the modules that a fresh interpreter has loaded after a statement."""
    ask = f"import sys\ntry:\n    {statement}\nfinally:\n    print('\\nloaded:', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("loaded:")[2].split())


def test_help_imports_no_command() -> None:
    """Reading models, NumPy and the kernels take a second; the list of commands needs none of them."""
    loaded = loaded_by("from mote.ui.cli import main; main(['--help'])")
    assert "numpy" not in loaded and "rich" not in loaded
    own = {m.removeprefix("mote.ui.cli.") for m in loaded if m.startswith("mote.ui.cli.")}
    assert own == {"destinations", "help", "output", "terminal", "usage"}


def test_a_command_imports_no_other() -> None:
    loaded = loaded_by("from mote.ui.cli import main; main(['compile', '--help'])")
    assert "mote.ui.cli.commands.compile" in loaded and "mote.ui.cli.commands.quantize" not in loaded


FORMATS = ("frontends/tflite", "frontends/torch", "frontends/trees")
"""What tells formats apart."""


@pytest.mark.parametrize(
    ("arguments", "needed", "most"),
    [
        (["inspect", str(DIGITS)], {"ir/graph", "ir/ops"}, 130),
        (["targets"], {"hardware/cores", "hardware/targets", "ir/graph", "ir/ops", "compiler/package"}, 95),
        (["cmake"], {"hardware/cores", "hardware/targets", "ir/graph", "ir/ops", "compiler/package"}, 95),
    ],
)
def test_a_command_that_reads_a_file_imports_what_it_needs(arguments: list[str], needed: set[str], most: int) -> None:
    """Neither kernels, the planner and the emitters nor parsers of operators that the model has none of: with them any
    command once took 737 modules, and two seconds of a processor."""
    own = {m for m in loaded_by(f"from mote.ui.cli import main; main({arguments!r})") if m.partition(".")[0] == "mote"}
    rooms = {"/".join(m.split(".")[1:3]) for m in own if m.count(".") > 2}
    assert rooms <= {*needed, *FORMATS, "compiler/options", "ui/api", "ui/cli"} and len(own) <= most
    assert not {"mote.frontends.tflite.ops.recurrent", "mote.frontends.tflite.ops.ethos_u"} & own


def test_every_command_has_its_module() -> None:
    folder = files("mote") / "ui" / "cli" / "commands"
    assert set(COMMANDS) <= {file.name.removesuffix(".py").replace("_", "-") for file in folder.iterdir()}


def test_dir_lists_what_there_is() -> None:
    assert set(dir(mote)) == set(mote.__all__)
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


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'moteml[onnx]'"),
        ({"url": "file:///home/me/mote", "dir_info": {}}, "pip install '/home/me/mote[onnx]'"),
        ({"url": "file:///me/mote", "dir_info": {"editable": True}}, "pip install --editable '/me/mote[onnx]'"),
        ({"url": "git+ssh://host/mote", "vcs_info": {}}, "pip install 'moteml[onnx]'"),
    ],
)
def test_installs_are_named_that_work(
    origin: dict[str, object] | None, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package that was installed from a clone is on no index."""
    text = json.dumps(origin) if origin else None
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: SimpleNamespace(read_text=lambda file: text))
    assert extras.installing("onnx") == command


def test_no_extra_brings_cuda_or_a_compiler() -> None:
    """PyPI's build of PyTorch for Linux has CUDA, and ziglang takes 407 MB: both are asked for by name only."""
    extras_of = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    heavy = {name for name, lines in extras_of.items() if any(re.match(r"(torch|ziglang)\b", line) for line in lines)}
    assert heavy == {"zig", "test"}
    with pytest.raises(MoteError, match="CPU build is enough"):
        extras.require("torch.absent", extra="torch")


def test_a_call_with_wrong_arguments_is_no_bug_of_mote() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'no_such'"):
        mote.convert(DIGITS, no_such=1)


def test_the_example_recognises_digits(capsys: pytest.CaptureFixture[str]) -> None:
    """Each class is the one that was written, on the emulated core and by LiteRT's reference kernels."""
    sys.path.insert(0, str(ROOT / "examples" / "recognise"))
    try:
        import recognise
    finally:
        sys.path.pop(0)
    assert recognise.main(emulated("cortex-m4")) == 0
    rows = re.findall(r"^(\d) +(\d), \d+\.\d% +(\d), \d+\.\d%$", capsys.readouterr().out, re.M)
    assert [row[0] for row in rows] == list("72958") and all(len(set(row)) == 1 for row in rows)
