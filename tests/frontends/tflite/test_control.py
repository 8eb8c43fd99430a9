"""Control flow in `.tflite` files: what is refused and why, and composite operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.compiler.line import compile
from tests.helpers.flow import BOOL, Body, Flow
from tests.helpers.support import needs_litert
from tests.ir.ops.control.flows import keep, remembering, variable

pytestmark = needs_litert


def looped(condition: Body, body: Body, *given: Callable[[Flow], int]) -> bytes:
    """One loop over an image and what else is given."""
    f = Flow(0)
    found = f.repeat([f.input(1, 6, 5, 3), *(make(f) for make in given)], condition, body)
    return f.finish(found[0])


def flag(flow: Flow) -> int:
    return flow.flag()


def second(flow: Flow, t: Sequence[int]) -> Sequence[int]:
    return t[1:2]


def assigning(flow: Flow, t: Sequence[int]) -> Sequence[int]:
    flow.writer.op("ASSIGN_VARIABLE", [variable(flow), t[0]], [])
    return t[1:2]


def itself(flow: Flow, t: Sequence[int]) -> Sequence[int]:
    made = [flow.like(i) for i in t]
    flow.writer.op("WHILE", t, made, cond_subgraph_index=1, body_subgraph_index=2)
    return made


def unknown(flow: Flow, t: Sequence[int]) -> Sequence[int]:
    return [flow.op("CUSTOM", t[:1], custom_code="Mystery"), t[1]]


def pooled(flow: Flow, t: Sequence[int]) -> Sequence[int]:
    return [flow.pool(t[0]), t[1]]


def listing(flow: Flow) -> int:
    return flow.plain("variant", given=True)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (looped(second, pooled, flag), "shapes that change while the model runs are not supported"),
        (looped(second, lambda b, t: t[:1], flag), "subgraph 'body' has 1 outputs, the operator 2"),
        (looped(lambda b, t: t[:1], keep), "the condition is int8 of 90 elements, not one bool"),
        (looped(keep, keep, flag), "its condition has 2 outputs"),
        (looped(lambda b, t: [b.constant([True, True], BOOL)], keep), "the condition is bool of 2 elements"),
        (looped(assigning, keep, flag), "its condition, assigns a variable"),
        (looped(second, itself, flag), "subgraph 2 calls itself: recursion needs unbounded memory"),
        (looped(second, unknown, flag), "subgraph 2: layer 0 CUSTOM(Mystery)"),
        (looped(second, keep, flag, listing), "is a list of tensors, which grows while the model runs"),
        (looped(lambda b, t: [b.constant(True, BOOL)], keep), "is still running after 4,096 iterations"),
    ],
)  # fmt: skip
def test_what_is_refused(model: bytes, reason: str) -> None:
    with pytest.raises(MoteError) as error:
        compile(model)
    assert reason in str(error.value)


def called(**indices: int) -> bytes:
    f = Flow(0)
    x, c = f.input(1, 2, 2, 1), f.flag()
    f.body([x], keep)
    f.body([x], lambda b, t: [b.add(t[0], t[0], quant=b.quants[t[0]])])
    y = f.like(x)
    f.writer.op("IF", [c, x], [y], **indices)
    return f.finish(y)


@pytest.mark.parametrize(
    ("indices", "reason"),
    [
        ({"then_subgraph_index": 1, "else_subgraph_index": 3}, "calls subgraph 3 of 3"),
        ({"then_subgraph_index": -1, "else_subgraph_index": 1}, "calls subgraph -1 of 3"),
        ({"then_subgraph_index": 0, "else_subgraph_index": 1}, "calls subgraph 0 of 3"),
    ],
)
def test_subgraphs_that_are_not_there(indices: dict[str, int], reason: str) -> None:
    with pytest.raises(MoteError, match=reason):
        compile(called(**indices))


def test_bodies_that_would_be_read_too_often() -> None:
    f = Flow(0)

    def twice(b: Flow, t: Sequence[int]) -> Sequence[int]:
        made = [b.like(i) for i in t]
        number = len(f.writer._others) + 1
        for out in made[:1]:
            b.writer.op("IF", [t[1], *t], [out, b.like(t[1])], then_subgraph_index=number, else_subgraph_index=number)
            b.writer.op(
                "IF", [t[1], *t], [b.like(out), made[1]], then_subgraph_index=number, else_subgraph_index=number
            )
        return made

    x, c = f.input(1, 2, 2, 1), f.flag()
    for _ in range(12):
        f.body([x, c], twice)
    f.body([x, c], keep)
    made = [f.like(x), f.like(c)]
    f.writer.op("IF", [c, x, c], made, then_subgraph_index=1, else_subgraph_index=1)
    with pytest.raises(MoteError, match="201 bodies of control flow are more than 200"):
        compile(f.finish(*made))


def test_a_state_belongs_to_one_call() -> None:
    f = Flow(0, "float32")
    x, c = f.input(1, 4), f.flag()
    number = f.body([x], lambda b, t: [remembering(b, t[0])])
    made = [f.like(x), f.like(x)]
    for y in made:
        f.writer.op("IF", [c, x], [y], then_subgraph_index=number, else_subgraph_index=number)
    with pytest.raises(MoteError, match="subgraph 1 keeps a state and is called by several operators"):
        compile(f.finish(*made))


def composite(same: bool) -> bytes:
    """A sum as a composite operator, whose decomposition is quantized as the tensor outside of it or otherwise."""
    f = Flow(0)
    x = f.input(1, 4)
    f.body([x], lambda b, t: [b.add(t[0], t[0], quant=b.quants[t[0]] if same else (0.07, 3))])
    y = f.like(x)
    empty = bytes([0, 0, 1, 0, 0, 36, 1])  # a FlexBuffer map without keys, which LiteRT asks for
    options = {"name": "odml.twice", "decomposition_subgraph_index": 1, "composite_attributes": empty}
    f.writer.op("STABLEHLO_COMPOSITE", [x], [y], **options)
    return f.finish(y)


@needs_litert
def test_a_composite_operator_is_what_it_is_made_of() -> None:
    compiled = compile(composite(same=True))
    assert not any(op.bodies for op in compiled.plan.graph.ops)
    result = verify(compiled, 2)
    assert result.exact and result.reference == "LiteRT BUILTIN_REF"


def test_a_body_with_another_quantization_is_refused() -> None:
    """LiteRT takes the integers for those of the tensor outside of it, whatever they stood for."""
    with pytest.raises(MoteError, match=r"output 0 of subgraph 'body' is quantized as 0\.07"):
        compile(composite(same=False))
