"""The options of the API: what the command takes, and an error that names the option for what means nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.compiler.options.parsing import UNLIMITED
from mote.compiler.settings import Settings, make_settings

MODELS = Path(__file__).parents[2] / "models"
DIGITS = MODELS / "digits.tflite"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"ram": "24K"}, {"ram": 24 << 10}),
        ({"ram": np.int64(900)}, {"ram": 900}),
        ({"ram": "min"}, {"least_ram": True}),
        ({"flash": "1M"}, {"flash": 1 << 20}),
        ({"flash": "min"}, {"least_flash": True, "optimize": "size"}),
        ({"point": "small"}, {"optimize": "size"}),
        ({"point": "smallest"}, {"flash": "min"}),
        ({"point": "ram-9000"}, {"ram": 9000}),
        ({"point": "fastest"}, {"ram": UNLIMITED, "optimize": "speed"}),
        ({"kernels": ["0=conv2d", "a=b=gemm/helium"]}, {"kernels": {"0": "conv2d", "a=b": "gemm"}}),
        ({"kernels": {0: "conv2d"}}, {"kernels": {"0": "conv2d"}}),
        ({"shapes": ["a=b=1,3,8,8", "c=1x4"]}, {"shapes": {"a=b": [1, 3, 8, 8], "c": (1, 4)}}),
        ({"target": Path("cortex-m4")}, {"target": "cortex-m4"}),
        ({"recompute": 12}, {"recompute": 12.0}),
        ({"train": ["last", "biases:rate=0.1"]}, {"train": "last,biases:rate=0.1"}),
    ],
    ids=str,
)
def test_options_are_written_as_for_the_command(written: dict[str, Any], meant: dict[str, Any]) -> None:
    assert make_settings(**written) == make_settings(**meant)


def test_a_budget_in_kilobytes_is_kept() -> None:
    assert mote.compile(DIGITS, ram="1K").plan.ram <= 1024


WRONG: dict[str, tuple[Any, ...]] = {
    "target": (None, 4, "cortex-m99"),
    "name": (3, None, "no-good"),
    "io": ("int16", None),
    "numerics": (1,),
    "optimize": ("fast", None),
    "single_file": ("yes", 1),
    "caller_arena": (None,),
    "instances": (1, "yes"),
    "cpp": ("17",),
    "check_flash": (None,),
    "labels": (3, "absent-label.txt"),
    "ram": ("lots", -5, 2.5, True, "24X", []),
    "flash": ("lots", -5, 1e6),
    "latency": ("soon", -0.1, 0, True),
    "cycles": ("many", -5, 2.5, True),
    "least_ram": ("min",),
    "least_flash": ("min", True),
    "input": ("columns", None),
    "red_zones": (16,),
    "encrypt": (16, None),
    "step": (None, "pixel"),
    "cores": (0, 3, "two", True),
    "barrier": (-1, "long"),
    "shrink": ("no", 0),
    "recompute": ("12", -1, 101, float("nan"), True),
    "stream": ("1", True, 1.0),
    "hop": ("2", None),
    "kernels": ("0=conv2d", ["conv2d"], 3),
    "aligned": (1,),
    "place_code": ("rom", None),
    "place_constants": ("rom", None),
    "flags": ("O9", None),
    "pins": (3, "absent-pins.toml"),
    "causal": (1,),
    "shapes": ("x=1", ["x"], {"x": (0, 3)}, {"x": 3}, ["x=1,,3"], 3),
    "edges": ("nhwc", None),
    "features": ("float64", None),
    "outputs": (3, None),
    "backend": (3, None, ["absent"]),
    "signature": (3, None, "absent"),
    "constants": ("x=1", 3, None),
    "preprocess": (3, None, "nothing"),
    "postprocess": (3, None, "nothing", "detect(1,2)"),
    "train": (3, "last,", "auto", "absent", "last:rate=0"),
    "train_data": (3, "absent.npz"),
    "point": ("ram-lots", 9000),
}


def test_every_option_says_what_is_wrong_with_it() -> None:
    """Whatever is wrong is an error that names the option, and no complaint about the model."""
    assert WRONG.keys() == {*Settings.__dataclass_fields__, "point"}
    for option, values in WRONG.items():
        for value in values:
            with pytest.raises(mote.MoteError) as error:
                mote.compile(DIGITS, **{"stream": 1} | {option: value} if option == "hop" else {option: value})
            said = str(error.value)
            assert "digits.tflite" not in said and (option.rstrip("s") in said), (option, value, said)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: mote.compile(DIGITS, ramm=1), "there is no option 'ramm'"),
        (lambda: mote.compile(DIGITS, "cortex-m4"), "is not Settings"),
        (lambda: mote.compile(DIGITS, (1, 2)), "option example_inputs: is for modules of PyTorch"),
        (lambda: mote.compile(DIGITS, (1, 2), example_inputs=(3,)), "option example_inputs: are given twice"),
        (lambda: mote.compile(DIGITS, make_settings(), ram=1), "settings were given, and ram as well"),
        (lambda: mote.compile(DIGITS, ram=1, point="least"), "a point is a budget already"),
        (lambda: mote.compile(None), "a NoneType is not a model"),
        (lambda: mote.compile(DIGITS, example_inputs=()), "option example_inputs: is for modules of PyTorch"),
        (lambda: mote.compile(DIGITS, shapes={"x": (1, 2)}), "option shape: there is no input 'x'"),
        (lambda: mote.compile_shared(str(DIGITS)), "not a list"),
        (lambda: mote.explore(DIGITS, points="3"), "option points: '3' is not an integer of at least 1"),
        (lambda: mote.verify(mote.compile(DIGITS), 0), "option inputs: 0 is not"),
        (lambda: mote.verify(mote.compile(DIGITS), 1, seed=-1), "option seed: -1 is not"),
        (lambda: mote.shrink(DIGITS, inputs=0), "option inputs: 0 is not"),
        (lambda: mote.run(mote.compile(DIGITS), emulator="bochs"), "bochs"),
        (lambda: mote.run(mote.compile(DIGITS), compiler="bcc"), "bcc"),
        (lambda: mote.run(mote.compile(DIGITS, target="cortex-m4"), emulator="bochs"), "bochs"),
        (lambda: mote.run(mote.compile(DIGITS, target="cortex-m4"), compiler="bcc"), "bcc"),
    ],
    ids=range(18),
)
def test_misuse_of_the_api_is_named(call: Any, said: str) -> None:
    with pytest.raises(mote.MoteError, match=said):
        call()
