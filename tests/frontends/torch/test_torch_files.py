"""Files of PyTorch: what is in them, what they leave open, and everything that can be wrong with them."""

from __future__ import annotations

import json
import pickle
import re
import zipfile
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn

import mote
from mote.base.errors import MoteError, UnsupportedError
from mote.frontends.source import fixed_inputs
from mote.frontends.torch.export import exported_bytes
from tests.frontends.torch.torch_support import check_numpy, file_of, graph_of, model_of
from tests.helpers.support import examples

PROGRAM = "archive/models/model.json"
WEIGHTS = "archive/data/weights/model_weights_config.json"


class Tiny(nn.Module):
    """A convolution, and something that depends on its size."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(2, 3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        return y.reshape(y.shape[0], y.shape[1] * y.shape[2]) / y.shape[2]


@pytest.fixture(scope="module")
def tiny() -> bytes:
    return file_of(Tiny(), torch.zeros(1, 2, 8))


@pytest.fixture(scope="module")
def dynamic() -> bytes:
    """Of which neither the number of sequences nor their length is known."""
    sizes = {0: torch.export.Dim("batch"), 2: torch.export.Dim("length", min=4, max=64)}
    return file_of(Tiny(), torch.zeros(2, 2, 8), dynamic_shapes=(sizes,))


def changed(data: bytes, member: str, change: Callable[[bytes], bytes]) -> bytes:
    """A file with another content of one of its members."""
    out = BytesIO()
    with zipfile.ZipFile(BytesIO(data)) as before, zipfile.ZipFile(out, "w") as after:
        for name in before.namelist():
            content = before.read(name)
            after.writestr(name, change(content) if name == member else content)
    return out.getvalue()


def edited(data: bytes, edit: Callable[[Any], None], member: str = PROGRAM) -> bytes:
    """A file with other fields in its program."""

    def change(content: bytes) -> bytes:
        fields = json.loads(content)
        edit(fields)
        return json.dumps(fields).encode()

    return changed(data, member, change)


def refusal(data: bytes, **more: Any) -> MoteError:
    with pytest.raises(MoteError) as found:
        graph_of(data, **more)
    assert found.value.remedy and "module.pt2" in found.value.where
    return found.value


def test_one_sequence_is_compiled_where_any_number_may_come(dynamic: bytes) -> None:
    graph = check_numpy(dynamic, shapes=(("x", (1, 2, 12)),))
    assert graph.tensors[graph.inputs[0]].size == 24
    assert graph.tensors[graph.outputs[0]].shape == (1, 30)


@pytest.mark.parametrize(
    ("shapes", "reason"),
    [
        ((), "axis 2 of input 'x' .* only known at run time"),
        ((("x", (1, 3, 12)),), "cannot have 1x3x12"),
        ((("x", (1, 12)),), "has 3 axes, not 2"),
        ((("x", (1, 2, 65)),), "outside of 4 to 64"),
        ((("y", (1, 2, 12)), ("x", (1, 2, 12))), "there is no input 'y'"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(dynamic: bytes, shapes: Any, reason: str) -> None:
    assert re.search(reason, refusal(dynamic, shapes=shapes).reason)


def test_fixed_shapes_cannot_be_others(tiny: bytes) -> None:
    assert "exported for the shape 1x2x8" in refusal(tiny, shapes=(("x", (1, 2, 9)),)).reason


class _Scaled(torch.nn.Module):
    def forward(self, x: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        return torch.exp(x) * gain


def test_an_input_that_is_set() -> None:
    data = file_of(_Scaled(), torch.zeros(1, 4), torch.zeros(1, 1))
    graph = check_numpy(data, constants=fixed_inputs({"gain": 2.5}))
    assert [graph.tensors[t].name for t in graph.inputs] == ["x"]
    x = np.float32([[0, 1, 2, 3]])
    np.testing.assert_allclose(graph.evaluate({graph.inputs[0]: x})[graph.outputs[0]], np.exp(x) * 2.5, 1e-5)
    with pytest.raises(MoteError, match="option set: there is no input 'g'"):
        graph_of(data, constants=fixed_inputs({"g": 1}))


class _Bomb:
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _explode, ()


def _explode() -> None:
    raise AssertionError("the pickle was loaded")


def test_pickles_are_never_loaded(tiny: bytes) -> None:
    """Not those of sample inputs, which every file has and nobody needs, nor those of weights."""
    bomb = pickle.dumps(_Bomb())
    graph_of(changed(tiny, "archive/data/sample_inputs/model.pt", lambda _: bomb))

    def as_pickle(fields: Any) -> None:
        fields["config"]["conv.weight"]["use_pickle"] = True

    pickled = changed(edited(tiny, as_pickle, WEIGHTS), "archive/data/weights/weight_0", lambda _: bomb)
    assert "'conv.weight' was saved as a pickle" in refusal(pickled).reason


EXPLOIT = "__import__('builtins').print('run')"


def _first(fields: Any) -> Any:
    return fields["graph_module"]["graph"]["nodes"][0]


def _target(target: str) -> Callable[[Any], None]:
    def edit(fields: Any) -> None:
        _first(fields)["target"] = target

    return edit


def _renamed(fields: Any) -> None:
    """The input of the user, called by what would be a program in the arguments of a function."""
    text = json.dumps(fields).replace('{"name": "x"}', json.dumps({"name": f"x={EXPLOIT}"}))
    fields.update(json.loads(text.replace('"x": {"dtype"', f'"x={EXPLOIT}": {{"dtype"')))


def _expression(fields: Any) -> None:
    sizes = fields["graph_module"]["graph"]["tensor_values"]["x"]["sizes"]
    sizes[0] = {"as_expr": {"expr_str": EXPLOIT, "hint": None}}


def _older(fields: Any) -> None:
    fields["schema_version"]["major"] = 7


def _unmade(fields: Any) -> None:
    _first(fields)["inputs"][0]["arg"]["as_tensor"]["name"] = "nothing"


def _misfit(fields: Any) -> None:
    fields["graph_module"]["graph"]["tensor_values"]["x"]["sizes"][1] = {"as_int": 5}


def _without(key: str) -> Callable[[Any], None]:
    def edit(fields: Any) -> None:
        del fields["graph_module"][key]

    return edit


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (_target("torch.os.system"), "a library that Mote does not know"),
        (_target("torch.ops.load_library"), "a library that Mote does not know"),
        (_target("torch.ops.aten.__class__.mro"), "there is no operator"),
        (_target("torch.ops.aten.from_file.default"), "is for files"),
        (_target("torch.ops.aten.nothing.default"), "there is no operator"),
        (_target("torch.ops.higher_order.map_impl"), "a loop over the rows of a tensor"),
        (_target("torch.ops.higher_order.cond"), "does not have two subgraphs"),
        (_target("_operator.getattr"), "a library that Mote does not know"),
        (_renamed, "is not an identifier"),
        (_expression, "a size is computed by"),
        (_older, "whose format has version 7"),
        (_unmade, "which nothing computes"),
        (_misfit, "PyTorch does not take these operands"),
        (_without("graph"), "a field 'graph' is missing"),
        (_without("signature"), "a field 'signature' is missing"),
    ],
)
def test_programs_that_are_none(tiny: bytes, edit: Callable[[Any], None], reason: str, capsys: Any) -> None:
    assert reason in refusal(edited(tiny, edit)).reason
    assert "run" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("member", "content", "reason"),
    [
        (PROGRAM, b"{", "is not JSON"),
        (PROGRAM, b"[1]", "has no fields"),
        (WEIGHTS, b"{}", "a field 'config' is missing"),
        ("archive/data/weights/weight_0", b"1234", "do not have its shape"),
        ("archive/data/weights/weight_0", b"", "has no elements"),
        ("archive/byteorder", b"big", "another order of bytes"),
    ],
)
def test_damaged_members(tiny: bytes, member: str, content: bytes, reason: str) -> None:
    assert reason in refusal(changed(tiny, member, lambda _: content)).reason


@given(st.data())
@settings(max_examples=examples(12), deadline=None)
def test_damage_is_explained(data: Any) -> None:
    """Whatever happens to a file, it is read or refused with a reason."""
    file = bytearray(_tiny_file())
    cut = data.draw(st.integers(0, len(file)))
    for _ in range(data.draw(st.integers(0, 3))):
        file[data.draw(st.integers(0, len(file) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        graph_of(bytes(file[:cut]) if data.draw(st.booleans()) else bytes(file))
    except MoteError as error:
        assert error.reason and error.where


@given(st.data())
@settings(max_examples=examples(12), deadline=None)
def test_other_programs_are_explained(data: Any) -> None:
    """The same of programs in which something else stands in a place."""

    def edit(fields: Any) -> None:
        for _ in range(data.draw(st.integers(1, 2))):
            place = fields
            while True:
                keys = list(place) if isinstance(place, dict) else list(range(len(place)))
                key = data.draw(st.sampled_from(keys))
                if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.integers(0, 9)) == 0:
                    break
                place = place[key]
            place[key] = data.draw(st.sampled_from(OTHERS))

    try:
        graph_of(edited(_tiny_file(), edit))
    except MoteError as error:
        assert error.reason and error.where


OTHERS = (
    None,
    True,
    -1,
    0,
    3,
    1 << 40,
    1 << 70,
    0.5,
    "",
    "x",
    "conv1d",
    "p_conv_weight",
    [],
    [1, 2],
    {},
    {"as_int": 3},
)
_KEPT: list[bytes] = []


def _tiny_file() -> bytes:
    if not _KEPT:
        _KEPT.append(file_of(Tiny(), torch.zeros(1, 2, 8)))
    return _KEPT[0]


class Odd(nn.Module):
    """Layers that Mote does not compile, between others that it does."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layer(x) + torch.rand(3)
        return self.layer(x.cummax(1)[0])


def test_everything_unsupported_is_in_one_message() -> None:
    """With the module and the line of source of each node."""
    with pytest.raises(UnsupportedError) as found:
        graph_of(file_of(Odd(), torch.ones(1, 3)))
    text = str(found.value)
    assert len(found.value.layers) == 2
    assert "aten.rand" in text and "random numbers" in text and "self.layer(x) + torch.rand(3)" in text
    assert "aten.cummax" in text and "test_torch_files.py:" in text


def test_types_that_nothing_is_computed_in_are_refused() -> None:
    for dtype, reason in ((torch.complex128, "type number 11"), (torch.complex32, "type number 9")):
        assert reason in refusal(file_of(nn.Identity(), torch.ones(1, 3, dtype=dtype))).reason


def test_weights_that_are_no_numbers_are_refused() -> None:
    module = Tiny()
    with torch.no_grad():
        module.conv.weight[0, 0, 0] = float("nan")
    with pytest.raises(UnsupportedError, match=r"layer 0 .*: constant '.*' holds infinity or NaN"):
        mote.compile(file_of(module, torch.zeros(1, 2, 8)))


def test_modules_that_are_in_training_are_refused() -> None:
    """Normalizations would use the statistics of their input, where the exporter was given such a module."""
    for norm in (nn.BatchNorm1d(3), nn.BatchNorm1d(3, track_running_stats=False)):
        program = torch.export.export(nn.Sequential(norm).train(), (torch.ones(2, 3),))
        with pytest.raises(UnsupportedError, match="as in training"):
            graph_of(exported_bytes(program))


class Structured(nn.Module):
    """Outputs with names, a part without gradients, an input that is left out, and double precision."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3, dtype=torch.float64)

    def forward(self, x: torch.Tensor, scale: float = 2.0, extra: Any = None) -> Any:
        with torch.no_grad():
            y = self.layer(x) * scale
        return {"scores": y, "parts": (y[:, :1], y[:, 1:]), "given": x}


def test_outputs_keep_their_names() -> None:
    model = model_of(file_of(Structured(), torch.ones(1, 3, dtype=torch.float64)))
    graph = model.graph()
    assert [graph.tensors[i].name for i in graph.outputs] == ["scores", "parts_0", "parts_1", "x"]
    assert any("float64 are computed in float32" in warning for warning in model.warnings)


@pytest.mark.parametrize(
    ("make", "reason", "remedy"),
    [
        (lambda: (nn.Linear(2, 2), None), "does not define its inputs", "example_inputs"),
        (lambda: (torch.jit.script(nn.Linear(2, 2)), (torch.ones(1, 2),)), "TorchScript", "scripted from"),
        (lambda: (nn.Linear(2, 2).state_dict(), None), "these are the weights", "load_state_dict"),
        (lambda: (torch.ones(2), None), "these are the weights", "load_state_dict"),
        (lambda: (nn.Linear(2, 2), (torch.ones(1, 3),)), "torch.export does not export it", "example_inputs"),
    ],
)
def test_objects_that_cannot_be_exported(make: Callable[[], Any], reason: str, remedy: str) -> None:
    model, inputs = make()
    with pytest.raises(MoteError) as found:
        mote.compile(model, example_inputs=inputs)
    assert reason in found.value.reason and remedy in found.value.remedy


def test_modules_are_compiled_as_they_are_in_use() -> None:
    """Dropout does nothing, and the module is as it was afterwards. Inputs may be arrays."""
    module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).train()
    compiled = mote.compile(module, example_inputs=np.ones((1, 4), np.float32))
    assert module.training and mote.verify(compiled, 1).passed
    assert exported_bytes(torch.export.export(module.eval(), (torch.ones(1, 4),)))
