"""Control flow, functions and constants of ONNX that are settled while a file is read."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import GraphProto, TensorProto, helper, numpy_helper

from mote.base.errors import TooLargeError, UnsupportedError
from mote.bench.evaluation.verify import verify
from mote.compiler.line import compile
from mote.frontends.onnx import control, reader, reference
from mote.frontends.onnx.ops import PARSERS
from tests.frontends.onnx.onnx_support import agrees, graph_of, model_of

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node, value = helper.make_node, helper.make_tensor_value_info


def body(nodes: list, inputs: list, outputs: list, constants: dict[str, np.ndarray] | None = None) -> GraphProto:
    initializers = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    return helper.make_graph(nodes, "body", inputs, outputs, initializers)


def branches(name_outside: str = "x") -> dict[str, GraphProto]:
    """Two ways to go on with a value around them."""
    made = {}
    for name, kind in (("then_branch", "Neg"), ("else_branch", "Exp")):
        made[name] = body([node(kind, [name_outside], [kind])], [], [value(kind, FLOAT, [2, 3])])
    return made


@pytest.mark.parametrize("condition", [True, False])
def test_the_branch_that_is_taken_is_known(condition: bool) -> None:
    nodes = [node("If", ["c"], ["y"], **branches())]
    graph = agrees(model_of(nodes, {"x": [2, 3]}, ["y"], {"c": np.array(condition)}))
    assert [op.kind for op in graph.ops] == ["NEG" if condition else "EXP"]


def test_an_input_that_is_set_decides_a_branch() -> None:
    """Only then are the shapes of what is behind it known, since the branches make different ones."""
    made = {
        "then_branch": body([node("Neg", ["x"], ["n"])], [], [value("n", FLOAT, [2, 3])]),
        "else_branch": body([node("Flatten", ["x"], ["f"], axis=0)], [], [value("f", FLOAT, [1, 6])]),
    }
    rate, x = value("rate", INT64, []), value("x", FLOAT, [2, 3])
    nodes = [node("Equal", ["rate", "fast"], ["c"]), node("If", ["c"], ["b"], **made), node("Exp", ["b"], ["y"])]
    fast = numpy_helper.from_array(np.int64(16000), "fast")
    graph = helper.make_graph(nodes, "rates", [x, rate], [value("y", FLOAT, None)], [fast])
    data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    for rate, shape in ((16000, (2, 3)), (8000, (1, 6))):
        compiled = compile(data, constants={"rate": rate})
        (x,), (y,) = (compiled.source.inputs, compiled.source.outputs)
        assert compiled.source.tensors[x].name == "x" and compiled.source.tensors[y].shape == shape
        result = verify(compiled, 1)
        assert result.passed and result.reference.startswith(("ONNX Runtime", "onnx.reference"))


def test_a_branch_that_depends_on_the_input_is_chosen_at_run_time() -> None:
    nodes = [
        node("ReduceSum", ["x"], ["sum"], keepdims=0),
        node("Less", ["sum", "zero"], ["c"]),
        node("If", ["c"], ["y"], **branches()),
    ]
    agrees(model_of(nodes, {"x": [2, 3]}, ["y"], {"zero": np.zeros((), np.float32)}))


@pytest.mark.parametrize("judge", ["onnxruntime", "onnx"])
def test_nodes_may_be_in_any_order(judge: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where only a branch reads what a later node computes."""
    monkeypatch.setattr(reference, "installed", lambda package: package == judge)
    nodes = [
        node("If", ["c"], ["y"], **branches("late")),
        node("Less", ["sum", "zero"], ["c"]),
        node("ReduceSum", ["x"], ["sum"], keepdims=0),
        node("Tanh", ["early"], ["late"]),
        node("Abs", ["x"], ["early"]),
    ]
    model = model_of(nodes, {"x": [2, 3]}, ["y"], {"zero": np.zeros((), np.float32)})
    result = verify(compile(model.SerializeToString()), 2)
    assert result.passed and result.reference.startswith({"onnx": "onnx.reference"}.get(judge, "ONNX Runtime"))


def test_branches_with_other_shapes_are_refused() -> None:
    other = body([node("Flatten", ["x"], ["z"], axis=0)], [], [value("z", FLOAT, [1, 6])])
    nodes = [
        node("ReduceMax", ["x"], ["m"], keepdims=0),
        node("Less", ["m", "zero"], ["c"]),
        node("If", ["c"], ["y"], name="branch", **{**branches(), "else_branch": other}),
    ]
    model = model_of(nodes, {"x": [2, 3]}, ["y"], {"zero": np.zeros((), np.float32)})
    with pytest.raises(UnsupportedError, match=r"layer 2 If 'branch': which branch is taken is only known at run time"):
        graph_of(model.SerializeToString())


def counting(*, stop: int | None = None) -> GraphProto:
    """Adds the number of the round to what is carried, and gives it out; it may stop by itself."""
    nodes = [node("Cast", ["i"], ["f"], to=FLOAT), node("Add", ["v", "f"], ["w"]), node("Tanh", ["w"], ["t"])]
    nodes.append(node("Identity", ["c"], ["d"]) if stop is None else node("Less", ["i", "stop"], ["d"]))
    inputs = [value("i", INT64, []), value("c", BOOL, []), value("v", FLOAT, [2, 3])]
    outputs = [value("d", BOOL, []), value("w", FLOAT, [2, 3]), value("t", FLOAT, [2, 3])]
    return body(nodes, inputs, outputs, {} if stop is None else {"stop": np.array(stop, np.int64)})


def test_loops_are_written_out() -> None:
    nodes = [node("Loop", ["n", "", "x"], ["last", "all"], body=counting())]
    agrees(model_of(nodes, {"x": [2, 3]}, ["last", "all"], {"n": np.array(4, np.int64)}))


def test_loops_end_by_their_own_condition() -> None:
    nodes = [node("Loop", ["", "go", "x"], ["last", "all"], body=counting(stop=2))]
    graph = agrees(model_of(nodes, {"x": [2, 3]}, ["last", "all"], {"go": np.array(True)}))
    assert graph.tensors[graph.outputs[1]].shape == (3, 2, 3)


def test_a_loop_whose_end_is_only_known_at_run_time_is_refused_by_name() -> None:
    inner = body(
        [
            node("ReduceMax", ["v"], ["m"], keepdims=0),
            node("Less", ["m", "one"], ["d"]),
            node("Add", ["v", "one"], ["w"]),
        ],
        [value("i", INT64, []), value("c", BOOL, []), value("v", FLOAT, [2, 3])],
        [value("d", BOOL, []), value("w", FLOAT, [2, 3])],
        {"one": np.ones((), np.float32)},
    )
    model = model_of([node("Loop", ["", "go", "x"], ["y"], body=inner)], {"x": [2, 3]}, ["y"], {"go": np.array(True)})
    with pytest.raises(UnsupportedError, match="layer 0 Loop 'y': the loop's condition is only known at run time"):
        graph_of(model.SerializeToString())


def test_loops_without_an_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "MOST_ROUNDS", 50)
    model = model_of([node("Loop", ["", "", "x"], ["y", "z"], body=counting())], {"x": [2, 3]}, ["y", "z"])
    with pytest.raises(UnsupportedError, match="layer 0 Loop 'y': more than 50 iterations"):
        graph_of(model.SerializeToString())


@pytest.mark.parametrize("backwards", [0, 1])
def test_scans_are_written_out(backwards: int) -> None:
    nodes = [node("Add", ["state", "part"], ["next"]), node("Mul", ["next", "part"], ["made"])]
    inputs = [value("state", FLOAT, [3]), value("part", FLOAT, [3])]
    inner = body(nodes, inputs, [value("next", FLOAT, [3]), value("made", FLOAT, [3])])
    options = {"scan_input_directions": [backwards], "scan_output_axes": [1], "scan_output_directions": [1]}
    scan = node("Scan", ["s", "x"], ["last", "all"], body=inner, num_scan_inputs=1, **options)
    agrees(model_of([scan], {"x": [4, 3], "s": [3]}, ["last", "all"]))


def scaled(name: str, calls: list[str]) -> object:
    """A function of the file: x times its attribute, then other functions of the file."""
    nodes = [node("Constant", [], ["k"]), node("Mul", ["x", "k"], ["m0"])]
    attribute = nodes[0].attribute.add()
    attribute.name, attribute.ref_attr_name, attribute.type = "value_float", "factor", 1
    for place, call in enumerate(calls):
        nodes.append(node(call, [f"m{place}"], [f"m{place + 1}"], domain="own", factor=0.5))
    nodes.append(node("Identity", [f"m{len(calls)}"], ["y"]))
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, ["x"], ["y"], nodes, imports, attributes=["factor"])


def test_functions_of_the_file_are_written_out() -> None:
    nodes = [
        node("Outer", ["x"], ["a"], domain="own", factor=3.0),
        node("Inner", ["a"], ["y"], domain="own", factor=2.0),
    ]
    functions = [scaled("Outer", ["Inner", "Inner"]), scaled("Inner", [])]
    agrees(model_of(nodes, {"x": [2, 3]}, ["y"], functions=functions, more=[("own", 1)]))


def test_a_function_that_calls_itself_is_refused() -> None:
    nodes = [node("Again", ["x"], ["y"], domain="own", factor=3.0)]
    model = model_of(nodes, {"x": [2, 3]}, ["y"], functions=[scaled("Again", ["Again"])], more=[("own", 1)])
    with pytest.raises(TooLargeError, match="bodies inside of one another"):
        graph_of(model.SerializeToString())


def test_functions_that_grow_without_bound_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve functions, each of which calls the next one eight times."""
    monkeypatch.setattr(reader, "MOST_NODES", 500)
    functions = [scaled(f"F{i}", [f"F{i + 1}"] * 8) for i in range(12)] + [scaled("F12", [])]
    nodes = [node("F0", ["x"], ["y"], domain="own", factor=1.0)]
    model = model_of(nodes, {"x": [2, 3]}, ["y"], functions=functions, more=[("own", 1)])
    with pytest.raises(TooLargeError, match="nodes, counting every iteration and call"):
        graph_of(model.SerializeToString())


def test_an_unsupported_node_is_named_inside_of_a_function() -> None:
    imports = [helper.make_opsetid("", 17)]
    inner = helper.make_function("own", "Odd", ["x"], ["y"], [node("Unheard", ["x"], ["y"], name="deep")], imports)
    model = model_of([node("Odd", ["x"], ["y"], name="top", domain="own")], {"x": [2]}, ["y"], functions=[inner])
    with pytest.raises(
        UnsupportedError, match=r"own\.Odd 'top': Unheard 'deep' inside of it: Mote has no such operator"
    ):
        graph_of(model.SerializeToString())


DEFINED = {
    "Mish": (18, {"x": [2, 3]}, {}),
    "Celu": (12, {"x": [2, 3]}, {"alpha": 0.7}),
    "LayerNormalization": (17, {"x": [2, 3], "s": [3], "b": [3]}, {"epsilon": 0.01}),
    "GroupNormalization": (21, {"x": [1, 4, 2, 3], "s": [4], "b": [4]}, {"num_groups": 2}),
    "MeanVarianceNormalization": (13, {"x": [1, 2, 3, 4]}, {}),
}


@pytest.mark.parametrize("kind", DEFINED)
def test_the_standard_defines_operators_by_others(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has no parser is written out as the standard says."""
    parsers = {key: parser for key, parser in PARSERS.items() if key != ("", kind)}
    assert len(parsers) == len(PARSERS) - 1
    monkeypatch.setattr(reader, "PARSERS", parsers)
    opset, inputs, attributes = DEFINED[kind]
    agrees(model_of([node(kind, list(inputs), ["y"], **attributes)], inputs, ["y"], opset=opset))


def test_arithmetic_of_shapes_is_folded() -> None:
    """As exporters write `x.view(x.size(0), -1, x.size(2) // 2)`."""
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["n"], axis=0),
        node("Gather", ["shape", "two"], ["w"], axis=0),
        node("Div", ["w", "two"], ["half"]),
        node("Unsqueeze", ["n", "axis"], ["n1"]),
        node("Unsqueeze", ["half", "axis"], ["half1"]),
        node("Concat", ["n1", "rest", "half1"], ["new"], axis=0),
        node("Reshape", ["x", "new"], ["y"]),
    ]
    constants = {"zero": np.array(0), "two": np.array(2), "axis": np.array([0]), "rest": np.array([-1])}
    graph = agrees(model_of(nodes, {"x": [1, 3, 4]}, ["y"], constants))
    assert graph.tensors[graph.outputs[0]].shape == (1, 6, 2)
    assert {op.kind for op in graph.ops} == {"RESHAPE"}


CONSTANTS = {
    "value": {"value": numpy_helper.from_array(np.array([1.5, 2, 3], np.float32))},
    "value_float": {"value_float": 2.5},
    "value_floats": {"value_floats": [0.5, 1.5, 2.5]},
    "sparse_value": {
        "sparse_value": helper.make_sparse_tensor(
            numpy_helper.from_array(np.array([7.0], np.float32), "v"), numpy_helper.from_array(np.array([1])), [3]
        )
    },
}


@pytest.mark.parametrize("form", CONSTANTS)
def test_constants_in_every_form(form: str) -> None:
    agrees(
        model_of([node("Constant", [], ["k"], **CONSTANTS[form]), node("Add", ["x", "k"], ["y"])], {"x": [2, 3]}, ["y"])
    )


def test_filled_constants_and_integers_for_shapes() -> None:
    nodes = [
        node("Constant", [], ["shape"], value_ints=[2, 3]),
        node("ConstantOfShape", ["shape"], ["k"], value=numpy_helper.from_array(np.array([1.25], np.float32))),
        node("Add", ["x", "k"], ["a"]),
        node("ConstantOfShape", ["shape"], ["none"]),
        node("Sub", ["a", "none"], ["y"]),
    ]
    agrees(model_of(nodes, {"x": [2, 3]}, ["y"]))


def test_a_constant_that_no_memory_holds_is_refused() -> None:
    nodes = [node("ConstantOfShape", ["shape"], ["k"]), node("Add", ["x", "k"], ["y"])]
    model = model_of(nodes, {"x": [1, 1]}, ["y"], {"shape": np.array([1 << 20, 1 << 20])})
    with pytest.raises(TooLargeError, match=r"the constant 'k' has 1,099,511,627,776 elements, more than"):
        graph_of(model.SerializeToString())


@pytest.mark.parametrize("wide", [np.float64, np.float16])
def test_other_real_numbers_are_computed_in_float32(wide: type) -> None:
    constants = {"k": np.array([1.5, 2, 3], wide)}
    nodes = [
        node("Cast", ["x"], ["w"], to=helper.np_dtype_to_tensor_dtype(np.dtype(wide))),
        node("Mul", ["w", "k"], ["y"]),
    ]
    agrees(model_of(nodes, {"x": [2, 3]}, ["y"], constants), 2e-3)
