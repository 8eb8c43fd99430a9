"""Knobs: a pin asks for a variant of a kernel, only defaults are chosen without one, and errors say what there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from mote import compile, verify
from mote.base.errors import MoteError
from mote.compiler.compiled import kernel_label
from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import Kernel, Knob, Packed, Refusal, View
from mote.compiler.plan.json_codec import dump, load, same
from mote.compiler.plan.selection.pins import Pin
from tests.compiler.plan.test_plan import DSP, MODELS, model

DIGITS = MODELS / "digits.tflite"
POINTWISE = "2_conv_2d"


def _knobs(view: View) -> Mapping[str, tuple[Knob, ...]]:
    return {"columns": (1, 2, 4), "order": ("rows", "channels")} if view.output.shape[-1] > 8 else {}


def _usual() -> Kernel:
    return next(k for k in catalogue.KERNELS if k.name == "pointwise")


def _pack(view: View, columns: int = 1, order: str = "rows") -> Packed | Refusal:
    if columns == 4 and order == "channels":
        return Refusal("four columns are taken by rows")
    packed = _usual().pack(view)
    return packed if isinstance(packed, Refusal) else replace(packed, price=replace(packed.price, tile=(1, columns)))


@pytest.fixture(autouse=True)
def turnable() -> Iterator[None]:
    """A kernel with two knobs, which costs as the portable one does and comes after all others."""
    known = list(catalogue.KERNELS)
    catalogue.KERNELS.append(replace(_usual(), name="turnable", pack=_pack, knobs=_knobs, costs="pointwise"))
    yield
    catalogue.KERNELS[:] = known


def view(number: int = 2) -> View:
    graph = model("digits")
    return View(graph, (graph.ops[number],))


def names(packed: Iterator[Packed]) -> list[str]:
    return [f"{k.family}{k.variant.removeprefix(k.name)}" for k in packed if k.family == "turnable"]


def test_all_variants_of_a_layer() -> None:
    catalogue.KERNELS[:] = [_usual(), catalogue.KERNELS[-1]]
    every = ["turnable", "turnable[order=channels]", "turnable[columns=2]", "turnable[columns=2,order=channels]"]
    assert names(catalogue.variants(view(), DSP)) == [*every, "turnable[columns=4]"]
    assert [k.variant for k in catalogue.candidates(view(), DSP) if k.knobs] == []


def test_variants_that_are_bound_once() -> None:
    catalogue.KERNELS[:] = [_usual(), catalogue.KERNELS[-1]]
    one = view()
    first = {k.variant: k for k in catalogue.variants(one, DSP) if k.family == "turnable"}
    again = {k.variant: k for k in catalogue.variants(one, DSP) if k.family == "turnable"}
    assert all(first[name] is again[name] for name in first)
    bound = dict(catalogue.with_knobs(one, DSP, (("columns", 2),)))
    assert [k for k in bound.values() if isinstance(k, Packed)] == [first["pointwise_s8[columns=2]"]]
    defaults = dict(catalogue.with_knobs(one, DSP, (("columns", 1), ("order", "rows"))))
    assert first["pointwise_s8"] in defaults.values()


@pytest.mark.parametrize(
    ("text", "knobs", "label"),
    [
        ("turnable[columns=1]", (), "pointwise_s8"),
        ("turnable[order=channels,columns=2]", (("columns", 2), ("order", "channels")), None),
        ("turnable[columns=4]/portable", (("columns", 4),), "pointwise_s8[columns=4]"),
    ],
)
def test_a_pin_for_a_variant(text: str, knobs: object, label: str | None) -> None:
    compiled = compile(DIGITS, target="cortex-m4", kernels=[f"{POINTWISE}={text}"])
    ((step, *_),) = [steps for op, steps in compiled.plan.works if op.name == POINTWISE]
    assert (step.kernel.family, step.kernel.knobs) == ("turnable", knobs)
    options = compiled.plan.choices[step.ops]
    assert (options[0].kernel, options[0].why) == (step.kernel.variant, "pinned")
    assert label in (None, step.kernel.variant)
    layer = next(i for i, (op, _) in enumerate(compiled.plan.works) if op.name == POINTWISE)
    assert kernel_label(compiled, layer) == f"{step.kernel.variant}/armv7em"
    assert same(load(dump(compiled.plan)), compiled.plan)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("turnable[columns=3]", r"has no kernel 'turnable\[columns=3\]'(.|\n)*columns=1\|2\|4, order=rows\|channels"),
        ("turnable[rows=2]", r"the knobs columns=1\|2\|4, order=rows\|channels, constants=ram\|flash"),
        ("turnable[columns=4,order=channels]", "has no kernel"),
        ("pointwise[columns=2]", r"has no kernel 'pointwise\[columns=2\]'(.|\n)*the knobs constants=ram\|flash"),
        ("turnable[columns=]", "is not the name of a kernel with values"),
        ("turnable[columns=1,columns=2]", "is not the name of a kernel with values"),
        ("turnable[]", "is not the name of a kernel with values"),
        ("turnable[columns", "is not LAYER=NAME or LAYER"),
        ("turnable[constants=psram]", "constants lie in ram or flash, not in 'psram'"),
        ("winograd[columns=2]", r"there is to choose from: (.|\n)*turnable"),
    ],
)
def test_what_there_is_to_choose_from(text: str, says: str) -> None:
    with pytest.raises(MoteError, match=says):
        compile(DIGITS, target="cortex-m4", kernels=[f"{POINTWISE}={text}"])


def test_layers_whose_names_have_signs_of_pins() -> None:
    with pytest.raises(MoteError, match=r"there is no layer 'a=b\[c=d\]'"):
        compile(DIGITS, target="cortex-m4", kernels=["a=b[c=d]=turnable[columns=2]"])
    assert str(Pin.parse("gemm4[ columns = 2 , constants=ram]/armv7em")) == "gemm4[columns=2,constants=ram]"


@pytest.mark.parametrize(("place", "optimize"), [("ram", "balanced"), ("flash", "speed")])
def test_where_constants_lie(place: str, optimize: str) -> None:
    """With speed as the goal the planner would copy them, else it would not."""
    pins = {POINTWISE: f"pointwise[constants={place}]"}
    compiled = compile(DIGITS, target="stm32l4r5", optimize=optimize, kernels=pins)
    ((step, *_),) = [steps for op, steps in compiled.plan.works if op.name == POINTWISE]
    assert step.kernel.loaded == (place == "ram")
    usual = compile(DIGITS, target="stm32l4r5", optimize=optimize, kernels={POINTWISE: "pointwise"})
    ((step, *_),) = [steps for op, steps in usual.plan.works if op.name == POINTWISE]
    assert step.kernel.loaded == (optimize == "speed")


def test_constants_in_ram_change_no_result() -> None:
    layers = [op.name for op, (step, *_) in compile(DIGITS).plan.works if step.kernel.constants]
    plain = compile(DIGITS, kernels={})
    kernels = {op.name: step.kernel.family for op, (step, *_) in plain.plan.works}
    pins = {layer: f"{kernels[layer]}[constants=ram]" for layer in layers}
    assert verify(compile(DIGITS, kernels=pins), 2).passed


def test_constants_that_cannot_be_copied() -> None:
    with pytest.raises(MoteError, match="two cores would wait for the copy"):
        compile(DIGITS, target="cortex-m0plus", cores=2, kernels={POINTWISE: "pointwise[constants=ram]"})


@pytest.mark.slow
def test_a_pin_for_a_kernel_of_two_layers_that_reads_another_layout() -> None:
    pins = {"1": "depthwise_gemm_wide_dual[order=m7]", "2": "depthwise_gemm_wide_dual[order=m7]"}
    compiled = compile(DIGITS, target="cortex-m7", optimize="speed", kernels=pins)
    steps = {compiled.plan.number(step): step.kernel for _, (step, *_) in compiled.plan.works}
    assert (steps["1+2"].family, steps["1+2"].knobs) == ("depthwise_gemm_wide_dual", (("order", "m7"),))
