"""The program of a file as a graph of PyTorch, with every size known.

Each node of the file is looked up among PyTorch's own operators, and tried with tensors that have shapes but no
elements. What the file computes about sizes is computed here, so that numbers are left in its place.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from keyword import iskeyword
from typing import Any

from mote.base.errors import LayerProblem, MoteError, Unsupported, UnsupportedError, UnsupportedNodeError
from mote.frontends import limits
from mote.frontends.remedies import OTHER_SIZES, ROW_LOOPS, remedy_of
from mote.frontends.torch.archive import Archive, MalformedArchiveError, Stored, only, record
from mote.frontends.torch.archive import field as field_of
from mote.frontends.torch.fake_quantize import FAKE, is_fixed
from mote.frontends.torch.origin import origin, with_line
from mote.ir.graph.tensor import Shape

OPERATORS = re.compile(r"torch\.ops\.(aten|prims|quantized_decomposed)\.(\w+)\.(\w+)")
"""The libraries of supported operators."""
NUMBERS: Mapping[str, Callable[..., Any]] = {
    **{
        f"_operator.{name}": getattr(operator, name)
        for name in ("add", "sub", "mul", "floordiv", "mod", "neg", "truediv", "and_", "or_", "not_")
    },
    **{f"_operator.{name}": getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{f"math.{name}": getattr(math, name) for name in ("ceil", "floor", "trunc")},
    "torch.sym_max": max,
    "torch.sym_min": min,
    "torch.sym_int": int,
    "torch.sym_float": float,
    "torch.sym_not": operator.not_,
    "torch.sym_ite": lambda condition, yes, no: yes if condition else no,
}
"""Arithmetic on sizes."""
CLAIMS = frozenset(
    f"aten.{name}"
    for name in (
        *("_assert_scalar.default", "_functional_assert_scalar.default", "_assert_tensor_metadata.default"),
        *("sym_constrain_range.default", "sym_constrain_range_for_size.default", "_assert_async.msg"),
    )
)
"""Nodes that compute nothing: assertions about sizes."""
ENTERED = {"torch.ops.higher_order.wrap_with_set_grad_enabled": 1, "torch.ops.higher_order.wrap_with_autocast": 4}
"""Nodes that call a subgraph unchanged, and the index of that argument."""
CONTROL = {"torch.ops.higher_order.cond": "cond", "torch.ops.higher_order.while_loop": "while_loop"}
"""Branches and loops, and PyTorch's operators for them."""
TYPES = {
    **{1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64"},
    **{10: "complex64", 12: "bool", 13: "bfloat16", 28: "uint16", 34: "uint32", 35: "uint64"},
}
"""PyTorch's names of the types that the file numbers."""
MOST_SIZE = 1 << 62
FILE_ACCESS = frozenset({"filename", "file"})
"""Arguments of operators that would read or write files."""


@dataclass
class Assembly:
    """The graph under construction, with the node or the number of every name of the file."""

    torch: Any
    archive: Archive
    shapes: dict[str, Shape]
    mode: Any
    graph: Any
    known: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, Any] = field(default_factory=dict)
    """The modules of subgraphs, by name."""
    warnings: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)

    def tensor(self, stored: Stored, name: str) -> Any:
        """A weight as a PyTorch tensor."""
        torch, meta = self.torch, stored.meta
        sizes, strides = ([integer_of(x) for x in field_of(meta, key)] for key in ("sizes", "strides"))
        dtype = self.dtype(field_of(meta, "dtype"), narrow=False)
        if min(sizes, default=1) < 0 or len(sizes) > limits.MOST_AXES:
            raise MalformedArchiveError(f"'{name}' has the shape {sizes}")
        if not stored.data:
            if math.prod(sizes):
                raise MalformedArchiveError(f"'{name}' has no elements, its shape {sizes} needs some")
            return torch.zeros(sizes, dtype=self.narrowed(dtype))
        try:
            flat = torch.frombuffer(bytearray(stored.data), dtype=dtype)
            view = flat.as_strided(sizes, strides, integer_of(field_of(meta, "storage_offset")))
        except (RuntimeError, ValueError, TypeError):
            raise MalformedArchiveError(f"the bytes of '{name}' do not have its shape {sizes}") from None
        return view.to(self.narrowed(dtype)).clone(memory_format=torch.contiguous_format)

    def dtype(self, number: object, *, narrow: bool = True) -> Any:
        """The type that the file has a number for."""
        if number not in TYPES:
            raise MoteError(
                f"a tensor has type number {number} of PyTorch's, which is not supported",
                remedy=f"export the module with one of {', '.join(TYPES.values())}",
            )
        dtype = getattr(self.torch, TYPES[number])
        return self.narrowed(dtype) if narrow else dtype

    def narrowed(self, dtype: Any) -> Any:
        """float32 for every other float type."""
        torch = self.torch
        if dtype in (torch.float16, torch.float64, torch.bfloat16):
            note = f"values of type {str(dtype).removeprefix('torch.')} are computed in float32"
            self.warnings += [] if note in self.warnings else [note]
            return torch.float32
        return dtype

    def run(self, graph: Mapping[str, Any]) -> list[Any]:
        """Add the nodes of a graph of the file; returns its outputs."""
        nodes = field_of(graph, "nodes")
        limits.check_layers(len(nodes))
        for index, node in enumerate(nodes):
            self.add(index, record(node, f"node {index}"))
        return [self.argument(output) for output in field_of(graph, "outputs")]

    def add(self, index: int, node: Mapping[str, Any]) -> None:
        """Add one node."""
        target = str(field_of(node, "target"))
        args, kwargs = self._arguments(node)
        outputs = names_of(field_of(node, "outputs"))
        if target in ENTERED:
            self._enter(target, args, outputs)
            return
        if target in NUMBERS:
            self.known[outputs[0]] = _computed(target, args)
            return
        if target in CONTROL:
            self._control(node, CONTROL[target], args, outputs)
            return
        function = self._operator(target)
        if (short := target.removeprefix("torch.ops.")) in CLAIMS:
            self._claim(short, args)
            return
        name = identifier(node.get("name") or (outputs[0] if outputs else "node"))
        if short in FAKE:
            self.known[outputs[0]] = self._faked(index, node, name, FAKE[short], args)
            return
        value = self._tried(index, node, function, args, kwargs)
        if isinstance(value, int | float | bool):
            self.known[outputs[0]] = value
            return
        made = self._made(node, name, function, args, kwargs, value)
        if isinstance(value, tuple | list):
            self._take_apart(made, outputs)
        elif outputs:
            self.known[outputs[0]] = made

    def _take_apart(self, made: Any, outputs: Sequence[str]) -> None:
        """The results of a node with several."""
        for i, (name, part) in enumerate(zip(outputs, made.meta["val"], strict=False)):
            item = self.graph.call_function(operator.getitem, (made, i))
            item.meta.update(made.meta, val=part)
            self.known[name] = item

    def _control(self, node: Mapping[str, Any], function: str, args: Sequence[Any], outputs: Sequence[str]) -> None:
        """A branch or a loop: its subgraphs become modules, which take tensors alone."""
        kinds = [type(x) for x in args if isinstance(x, Mapping | list)]
        if kinds != ([dict, dict, list] if function == "cond" else [dict, dict, list, list]):
            raise MalformedArchiveError(f"'{function}' does not have two subgraphs and their operands")
        operands = [x for part in args if isinstance(part, list) for x in part]
        given: list[Any] = []
        for argument in args:
            if not isinstance(argument, Mapping):
                given.append(tuple(argument) if isinstance(argument, list) else argument)
                continue
            results, module = self._module(argument, operands)
            name = f"part_{len(self.parts)}"
            self.parts[name] = module
            given.append(self.graph.get_attr(name))
        target = getattr(self.torch.ops.higher_order, function)
        name = identifier(node.get("name") or function)
        made = self._made(node, name, target, given, {}, tuple(x.meta["val"] for x in results))
        if node.get("is_hop_single_tensor_return"):
            made.meta["val"] = results[0].meta["val"]
            self.known[outputs[0]] = made
        else:
            self._take_apart(made, outputs)

    def _module(self, part: Mapping[str, Any], operands: Sequence[Any]) -> tuple[list[Any], Any]:
        """The results of a subgraph for operands, and its module."""
        fx = self.torch.fx
        inner = replace(self, graph=fx.Graph(), known={}, parts={})
        names = names_of(field_of(part, "inputs"))
        if len(names) != len(operands):
            raise MalformedArchiveError(f"a subgraph has {len(names)} inputs, for {len(operands)} values")
        for name, operand in zip(names, operands, strict=True):
            if not isinstance(operand, fx.Node):
                raise MoteError("a branch or a loop takes a number", remedy="give it tensors: torch.tensor(...)")
            inner.known[name] = inner.graph.placeholder(identifier(name))
            inner.known[name].meta["val"] = operand.meta["val"]
        results = inner.run(part)
        if not all(isinstance(x, fx.Node) for x in results):
            raise MoteError("a branch or a loop returns a number", remedy="let it return tensors: torch.tensor(...)")
        inner.graph.output(results[0] if part.get("is_single_tensor_return") else tuple(results))
        return results, fx.GraphModule(inner.root(), inner.graph)

    def root(self) -> Any:
        """A module that has those of the subgraphs."""
        module = self.torch.nn.Module()
        for name, part in self.parts.items():
            setattr(module, name, part)
        return module

    def _made(
        self, node: Mapping[str, Any], name: str, function: Any, args: Sequence[Any], kwargs: Any, value: Any
    ) -> Any:
        """A node of PyTorch's graph, with its fake result."""
        made = self.graph.create_node("call_function", function, tuple(args), kwargs, name=name)
        fixed = bool(made.all_input_nodes) and all(map(is_fixed, made.all_input_nodes))
        made.meta.update(val=value, custom=origin(node), fixed=fixed)
        return made

    def _faked(
        self, index: int, node: Mapping[str, Any], name: str, maker: Callable[..., Any], args: Sequence[Any]
    ) -> Any:
        """The nodes of fake quantization."""

        def emit(function: Any, *args: Any) -> Any:
            return self._made(node, name, function, args, {}, self._tried(index, node, function, args, {}))

        try:
            return maker(self.torch, emit, *args)
        except UnsupportedNodeError as error:
            raise UnsupportedError([_unsupported(index, node, error.problem)], where="") from None

    def _tried(
        self, index: int, node: Mapping[str, Any], function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """The fake result of an operator, on tensors without data."""
        fx = self.torch.fx
        given = fx.node.map_arg((tuple(args), dict(kwargs)), lambda n: n.meta["val"])
        try:
            with self.mode:
                return function(*given[0], **given[1])
        except MoteError:
            raise
        except Exception as error:  # PyTorch has many, and each means that the node makes no sense
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            wrong = _unsupported(
                index, node, LayerProblem(f"PyTorch does not take these operands: {reason}", OTHER_SIZES)
            )
            raise UnsupportedError([wrong], where="", assumed=self.assumed) from None

    def _operator(self, target: str) -> Any:
        """The operator of that name; its type is checked, so that nothing else can be called."""
        match = OPERATORS.fullmatch(target)
        function: Any = None
        if match:
            library, name, overload = match.groups()
            function = getattr(getattr(getattr(self.torch.ops, library), name, None), overload, None)
        if target == "_operator.getitem":
            return operator.getitem
        if not isinstance(function, self.torch._ops.OpOverload):
            raise MalformedArchiveError(f"there is no operator '{target}'")
        if any(argument.name in FILE_ACCESS for argument in function._schema.arguments):
            raise MalformedArchiveError(f"the operator '{target}' is for files")
        return function

    def _claim(self, target: str, args: Sequence[Any]) -> None:
        """An assertion about a size must hold for the chosen size."""
        if "scalar" in target and args and args[0] is False:
            message = args[1] if len(args) > 1 else "a condition on its shapes"
            raise MoteError(
                f"the shapes that were chosen break what the module asserts: {message}",
                remedy="give other shapes, or export the module without dynamic_shapes",
            )

    def _enter(self, target: str, args: Sequence[Any], outputs: Sequence[str]) -> None:
        """Inline a called subgraph."""
        place = ENTERED[target]
        if target.endswith("autocast") and args[2] is True:
            raise MoteError("the module computes in a mode that changes types", remedy="export it without autocast")
        part = record(args[place], "a part of the program")
        given = names_of(field_of(part, "inputs"))
        outer = dict(self.known)
        self.known.update(zip(given, args[place + 1 :], strict=True))
        results = self.run(part)
        self.known = outer | dict(zip(outputs, results, strict=True))

    def _arguments(self, node: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for given in field_of(node, "inputs"):
            value = self.argument(field_of(record(given, "an argument"), "arg"))
            if given.get("kind") == 2:
                kwargs[str(field_of(given, "name"))] = value
            else:
                args.append(value)
        return args, kwargs

    def argument(self, argument: object) -> Any:
        """The value of an argument: a node, a number, or a list of these."""
        kind, value = only(argument, "an argument")
        if kind in _ONES:
            return _ONES[kind](self, value)
        if kind in _MANY:
            return [_ONES[_MANY[kind]](self, x) for x in value]
        raise MalformedArchiveError(f"an argument is {kind}")

    def named(self, name: object) -> Any:
        if name not in self.known:
            raise MalformedArchiveError(f"a node reads '{name}', which nothing computes")
        return self.known[str(name)]

    def size(self, value: object) -> Any:
        """A number, or the name of a computed one."""
        if isinstance(value, dict):
            kind, inner = only(value, "a size")
            return self.named(inner) if kind == "as_name" else inner
        return value


def _literal(_: Assembly, value: Any) -> Any:
    return value


def _real(_: Assembly, value: Any) -> float:
    return float(value)


def _tensor(assembly: Assembly, value: Any) -> Any:
    return assembly.named(field_of(record(value, "a tensor"), "name"))


def _optional(assembly: Assembly, value: Any) -> Any:
    kind, inner = only(value, "a tensor")
    return None if kind == "as_none" else _tensor(assembly, inner)


def _scalar_type(assembly: Assembly, value: Any) -> Any:
    return assembly.dtype(value)


def _memory_format(assembly: Assembly, value: Any) -> Any:
    return assembly.torch.preserve_format if value == 4 else assembly.torch.contiguous_format


_ONES: Mapping[str, Callable[[Assembly, Any], Any]] = {
    "as_none": lambda _, __: None,
    "as_int": _literal,
    "as_bool": _literal,
    "as_string": _literal,
    "as_float": _real,
    "as_tensor": _tensor,
    "as_optional_tensor": _optional,
    "as_sym_int": Assembly.size,
    "as_sym_bool": Assembly.size,
    "as_sym_float": Assembly.size,
    "as_scalar_type": _scalar_type,
    "as_memory_format": _memory_format,
    "as_layout": lambda assembly, _: assembly.torch.strided,
    "as_device": lambda assembly, _: assembly.torch.device("cpu"),
    "as_graph": lambda _, value: record(field_of(record(value, "a part"), "graph"), "a part"),
}
_MANY = {
    "as_ints": "as_int",
    "as_bools": "as_bool",
    "as_strings": "as_string",
    "as_floats": "as_float",
    "as_tensors": "as_tensor",
    "as_optional_tensors": "as_optional_tensor",
    "as_sym_ints": "as_sym_int",
    "as_sym_bools": "as_sym_bool",
    "as_sym_floats": "as_sym_float",
}
"""Kinds of lists, and the kinds of their elements."""


CONTROL_FLOW = LayerProblem("a loop over the rows of a tensor, or other control flow of its own", ROW_LOOPS)
UNKNOWN_LIBRARY = LayerProblem("a library that Mote does not know has it")


def check_libraries(graph: Mapping[str, Any]) -> None:
    """Refuse all nodes of unsupported libraries, in one message."""
    known = {*NUMBERS, *ENTERED, *CONTROL, "_operator.getitem"}
    wrong = []
    for index, node in enumerate(_all_nodes(graph)):
        target = str(field_of(node, "target"))
        if target not in known and not OPERATORS.fullmatch(target):
            wrong.append(_unsupported(index, node, CONTROL_FLOW if "higher_order" in target else UNKNOWN_LIBRARY))
    if wrong:
        raise UnsupportedError(wrong, where="")


def has_control(graph: Mapping[str, Any]) -> bool:
    """Whether a graph has branches or loops, for which PyTorch needs symbols of sizes."""
    return any(node.get("target") in CONTROL for node in _all_nodes(graph))


def _all_nodes(graph: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The nodes of a graph, and of inlined subgraphs."""
    for node in field_of(graph, "nodes"):
        yield record(node, "a node")
        if node.get("target") in (*ENTERED, *CONTROL):
            for given in field_of(node, "inputs"):
                kind, value = only(field_of(record(given, "an argument"), "arg"), "an argument")
                if kind == "as_graph":
                    yield from _all_nodes(record(field_of(record(value, "a part"), "graph"), "a part"))


def _unsupported(index: int, node: Mapping[str, Any], problem: LayerProblem) -> Unsupported:
    place = origin(node)
    code = str(node["target"]).removeprefix("torch.ops.").removesuffix(".default")
    name, reason = place["module"] or "forward", with_line(problem.reason, place)
    return Unsupported(index, name, code, reason, remedy_of(problem, ()))


def names_of(arguments: Sequence[object]) -> list[str]:
    """The names of all values in a list of arguments."""
    names: list[str] = []
    for argument in arguments:
        kind, value = only(argument, "an output")
        if kind == "as_none":
            names.append("")
            continue
        for one in value if isinstance(value, list) else [value]:
            fields = record(one, "an output")
            names.append(str(fields.get("name") or fields.get("as_name") or ""))
    return names


def integer_of(size: object) -> int:
    kind, value = only(size, "a size")
    if kind != "as_int" or not isinstance(value, int):
        raise MalformedArchiveError("the size of a weight is dynamic")
    return value


def identifier(name: object) -> str:
    """A name in the file that PyTorch will write into generated code: it must be an identifier."""
    if not isinstance(name, str) or not name.isidentifier() or iskeyword(name):
        raise MalformedArchiveError(f"'{str(name)[:40]}' is not an identifier")
    return name


def _computed(target: str, args: Sequence[Any]) -> int | float | bool:
    """Arithmetic on sizes, which are numbers."""
    if not all(isinstance(x, int | float | bool) for x in args):
        raise MalformedArchiveError(f"'{target}' is not supported on sizes")
    try:
        number: int | float | bool = NUMBERS[target](*args)
    except (ArithmeticError, TypeError, ValueError):
        raise MalformedArchiveError(f"'{target}' does not take {list(args)}") from None
    if isinstance(number, int) and abs(number) >= MOST_SIZE:
        raise MalformedArchiveError("a size is too large")
    return number
