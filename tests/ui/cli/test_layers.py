"""Layers in tables: a number that other commands take, and names that differ where layers do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mote.frontends.tflite.writer import Writer
from tests.helpers.network import Net
from tests.helpers.support import emulated
from tests.ui.cli.test_cli import ROOT, mote

LONG = "functional_1/a_very_long_prefix_that_every_layer_has/BiasAdd;functional_1/a_very_long_prefix/Conv2D"


class Renamed(Writer):
    """Every tensor has the same long name."""

    def tensor(self, name: str, *args: object, **options: object) -> int:
        return super().tensor(LONG, *args, **options)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture
def same_names(tmp_path: Path) -> str:
    """A model of four convolutions that are called the same."""
    net = Net()
    net.writer = Renamed("net")
    x = net.input(1, 8, 8, 8)
    for _ in range(4):
        x = net.conv(x, 8, 1)
    path = tmp_path / "same.tflite"
    path.write_bytes(net.finish(x))
    return str(path)


def layers(table: str) -> dict[str, str]:
    """The numbers and names of a printed table of layers."""
    rows = re.search(r"^#  *layer .*\n((?:\w[\w.+]*  +\S.*\n|  .*\n)*)", table, re.MULTILINE)
    assert rows, table
    return dict(re.findall(r"^(\w[\w.+]*)  +(\S+)", rows[1], re.MULTILINE))


def test_every_table_has_the_same_numbers_and_names(same_names: str, capsys: pytest.CaptureFixture[str]) -> None:
    core = ("-t", emulated("cortex-m4"))
    known = layers(mote(capsys, "inspect", same_names)[1])
    assert list(known) == ["0", "1", "2", "3"] and len(set(known.values())) == 4
    for command in ("plan", "run", "profile"):
        assert layers(mote(capsys, command, same_names, *core)[1]) == known


def test_layers_that_passes_remove_keep_their_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    known = layers(mote(capsys, "inspect", "models/digits.onnx")[1])
    planned = layers(mote(capsys, "plan", "models/digits.onnx", "-t", "cortex-m4")[1])
    assert set(planned.items()) < set(known.items()) and "1" not in planned and planned["12"] == "6_fully_connected"


def test_a_number_means_one_layer(same_names: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a name is that of several, it is refused; short names are unique."""
    core = ("-t", "cortex-m4", "--wide")
    known = layers(mote(capsys, "inspect", same_names)[1])
    for layer in ("2", known["2"]):
        status, out, _ = mote(capsys, "plan", same_names, *core, "--kernel", f"{layer}=pointwise_s8")
        assert status == 0
        kernels = re.findall(r"^(\d) .*(pointwise\w+)/armv7em .*", out, re.MULTILINE)
        assert [name == "pointwise_s8" for _, name in kernels] == [False, False, True, False]
    assert "pinned" in mote(capsys, "plan", same_names, *core, "--kernel", "2=pointwise_s8", "--layer", "2")[1]
    assert "pinned" not in mote(capsys, "plan", same_names, *core, "--kernel", "2=pointwise_s8", "--layer", "1")[1]
    for options in (("--layer", LONG), ("--kernel", f"{LONG}=pointwise_s8")):
        status, _, err = mote(capsys, "plan", same_names, *core, *options)
        assert status == 1 and "the layers 0, 1, 2, 3 are all called" in err and "give the number" in err
