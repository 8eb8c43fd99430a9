"""Layers in tables: a number that other commands take, and names that differ where layers do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mote.cli.common import shortened
from mote.frontends.tflite.writer import Writer
from tests.cli.test_cli import mote
from tests.helpers.network import Net
from tests.helpers.support import emulated

LONG = "functional_1/a_very_long_prefix_that_every_layer_has/BiasAdd;functional_1/a_very_long_prefix/Conv2D"


class Renamed(Writer):
    """Every tensor has the same long name."""

    def tensor(self, name: str, *args: object, **options: object) -> int:
        return super().tensor(LONG, *args, **options)  # type: ignore[arg-type]


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


def test_every_table_has_numbers(same_names: str, capsys: pytest.CaptureFixture[str]) -> None:
    core = ("-t", emulated("cortex-m4"))
    for command in (("inspect",), ("plan", *core), ("run", *core), ("profile", *core), ("shrink", "--inputs", "1")):
        out = mote(capsys, *command[:1], same_names, *command[1:])[1]
        numbers = re.findall(r"^(\d+) .*CONV_2D", out, re.MULTILINE)
        assert numbers == (["0", "1", "2", "3"] if command[0] != "shrink" else []), (command, out)


def test_a_number_means_one_layer(same_names: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a name is that of several, it is refused."""
    core = ("-t", "cortex-m4")
    status, out, _ = mote(capsys, "plan", same_names, *core, "--kernel", "2=pointwise_s8")
    assert status == 0
    kernels = re.findall(r"^(\d) .*(pointwise\w+)/armv7em .*", out, re.MULTILINE)
    assert [name == "pointwise_s8" for _, name in kernels] == [False, False, True, False]
    assert "pinned" in mote(capsys, "plan", same_names, *core, "--kernel", "2=pointwise_s8", "--layer", "2")[1]
    assert "pinned" not in mote(capsys, "plan", same_names, *core, "--kernel", "2=pointwise_s8", "--layer", "1")[1]
    for options in (("--layer", LONG), ("--kernel", f"{LONG}=pointwise_s8")):
        status, _, err = mote(capsys, "plan", same_names, *core, *options)
        assert status == 1 and "the layers 0, 1, 2, 3 are all called" in err and "give the number" in err


def test_long_names_stay_different() -> None:
    head, tail = "model/block_", "/depthwise_separable_convolution_2d/kernel/BiasAdd"
    names = [f"{head}{i}{tail}" for i in range(12)]
    cut = shortened(names)
    assert len(set(cut)) == 12 and all(len(name) <= 36 for name in cut)
    assert all(str(i) in name for i, name in enumerate(cut))
    assert shortened(["short", LONG, LONG]) == ["short", f"...{LONG[-33:]}", f"...{LONG[-33:]}"]


@given(st.lists(st.text("ab", max_size=30)), st.integers(9, 20))
def test_different_names_are_never_shown_the_same(names: list[str], width: int) -> None:
    found = shortened(names, width)
    assert len(set(zip(names, found, strict=True))) == len(set(names)) == len(set(found))
