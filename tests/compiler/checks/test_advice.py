"""What a user is told of a model that will be slow where it is to run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mote.compiler.line import compile
from mote.ui import cli
from tests.helpers.network import Net


def network(dtype: str) -> bytes:
    """Two layers."""
    net = Net(dtype=dtype)
    return net.finish(net.conv(net.conv(net.input(1, 8, 8, 4), 8, 3), 4, 1))


@pytest.mark.parametrize("core", ["cortex-m0plus", "rv32imc"])
def test_products_of_floats_without_an_fpu(core: str) -> None:
    (said,) = compile(network("float32"), target=core).warnings
    assert said.startswith(f"2 layers compute in float32, and {core} has no floating-point unit")
    times = int(said.split("about ")[1].split(" times")[0])
    assert 10 <= times <= 60
    assert "quantize the model to int8" in said


def test_nothing_is_said_where_it_does_not_matter() -> None:
    assert compile(network("float32"), target="cortex-m4").warnings == ()
    assert compile(network("float32")).warnings == ()
    assert compile(network("int8"), target="cortex-m3").warnings == ()
    net = Net(dtype="float32")
    functions = net.finish(net.op("SOFTMAX", [net.op("TANH", [net.input(1, 8)])], beta=1.0))
    assert compile(functions, target="cortex-m3").warnings == ()


def test_the_command_says_it_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "net.tflite"
    model.write_bytes(network("float32"))
    options = ["compile", str(model), "--target", "cortex-m3", "-o", str(tmp_path / "out")]
    assert cli.main(options) == 0
    assert capsys.readouterr().out.count("no floating-point unit") == 1
    assert cli.main([*options, "--json", "--force"]) == 0
    (said,) = json.loads(capsys.readouterr().out)["warnings"]
    assert "no floating-point unit" in said
