"""Functions in `<name>.h` that convert the model's values: quantize, dequantize, best classes and their labels. They
are static inline, so that unused ones take no flash."""

from __future__ import annotations

from collections.abc import Sequence

from mote.compiler.emit.c.c import CFunction, Comment, Compound, Define, Definition, Noted, Statement, loop, when
from mote.compiler.emit.c.model.handle import taken
from mote.compiler.emit.c.model.ports import CPort
from mote.ir.graph import Tensor
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.quantize import QUANTIZED


def is_quantized(port: CPort) -> bool:
    """Whether an input or output is quantized per tensor."""
    t = port.tensor
    return t.dtype in QUANTIZED and t.quant is not None and not t.quant.per_channel and t.scale > 0


def is_ranked(port: CPort) -> bool:
    """Whether an output is a single vector of scores, for which best classes can be found."""
    t = port.tensor
    return (
        not port.is_input
        and not port.numbers
        and t.dtype not in (DType.BOOL, DType.COMPLEX64)
        and t.size == t.channels > 1
    )


def quantization_macros(macro: str, t: Tensor) -> list[Definition]:
    """Macros for the scale and the zero point of a tensor; none if it is not quantized."""
    if t.quant is None or t.dtype == DType.FLOAT32:
        return []
    scale = Define(f"{macro}_SCALE", f"{t.quant.scale[0]!s}f")
    return [
        Noted(scale, "real = scale * (q - zero_point)"),
        Define(f"{macro}_ZERO_POINT", f"({t.zero_point})"),
    ]


def quantizing(port: CPort, *, whole: bool) -> list[Definition]:
    """The functions that quantize one float, and, if `whole`, all elements of the input."""
    name = port.named("quantize")
    told = Comment(
        "A float as an element of the input, rounded as LiteRT does: to the nearest, halves away from zero.\n"
        "Numbers out of range become the least or the greatest element, NaN becomes that of 0."
    )
    return [
        told,
        quantizer(name, port.macro, port.element, port.tensor),
        *(_quantizing_all(port, name) if whole else []),
    ]


def quantizer(name: str, macro: str, element: str, t: Tensor) -> CFunction:
    """The function that quantizes one float, by the macros for scale and zero point."""
    least, most = t.dtype.limits
    return CFunction(
        f"static inline {element} {name}(float value)",
        [
            f"const float steps = value / {macro}_SCALE",
            "int32_t whole",
            "float rest",
            when("steps != steps", f"return {macro}_ZERO_POINT"),
            when(f"steps <= {least - t.zero_point}.0f", f"return {least}"),
            when(f"steps >= {most - t.zero_point}.0f", f"return {most}"),
            "whole = (int32_t)steps",
            "rest = steps - (float)whole",
            f"return ({element})(whole + (rest >= 0.5f ? 1 : rest <= -0.5f ? -1 : 0) + {macro}_ZERO_POINT)",
        ],
    )


def _quantizing_all(port: CPort, one: str) -> list[Definition]:
    fill = loop("size_t", "i", f"{port.macro}_SIZE", f"input[i] = {one}(values[i])")
    return [
        Comment(f"Quantize {port.tensor.size} floats, in the order of the input, into it."),
        CFunction(
            f"static inline mote_status {port.named('quantize_input')}({taken(port.options, 'const float *values')})",
            [
                f"{port.ctype} *input = {port.inner_call}",
                when("input == NULL", "return MOTE_NOT_READY"),
                fill,
                "return MOTE_OK",
            ],
        ),
    ]


def dequantizing(port: CPort) -> list[Definition]:
    """The function that dequantizes an element of an output."""
    real = f"return {port.macro}_SCALE * (float)((int32_t)element - {port.macro}_ZERO_POINT)"
    return [
        Comment("The float that an element of the output stands for."),
        CFunction(f"static inline float {port.named('dequantize')}({port.element} element)", [real]),
    ]


def normalizing(port: CPort) -> list[Definition]:
    """The function that normalizes raw data for an input, as the model's metadata says."""
    value = f"return (raw - {port.macro}_MEAN) / {port.macro}_STD"
    then = f" Then {port.named('quantize')} makes an element of it." if is_quantized(port) else ""
    return [
        Comment(f"The input's value for a raw one, a pixel's for example.{then}"),
        CFunction(f"static inline float {port.named('normalize')}(float raw)", [value]),
    ]


def labelled(outputs: Sequence[CPort]) -> dict[str, CPort]:
    """The outputs whose classes have names, by the suffix of the function that returns the names: one function for all
    outputs, or one each if their classes differ."""
    first = {port.labels: port for port in reversed(outputs) if port.labels}
    return {f"label{port.suffix if len(first) > 1 else ''}": port for port in reversed(first.values())}


def labelling(outputs: Sequence[CPort]) -> list[Definition]:
    """The functions that return the names of classes."""
    return [d for function, port in labelled(outputs).items() for d in _labelling(port, function)]


def _labelling(port: CPort, function: str) -> list[Definition]:
    name = f"{port.options.name}_{function}"
    names = f"static const char *const names[] = {port.macro}_CLASSES"
    return [
        Comment('The name of a class; "" where there is no such class.'),
        CFunction(
            f"static inline const char *{name}(size_t i)",
            [names, 'return i < sizeof names / sizeof names[0] ? names[i] : ""'],
        ),
    ]


def ranking(port: CPort) -> list[Definition]:
    """The functions that find the best classes of an output."""
    size, scores = f"{port.macro}_SIZE", f"{port.ctype} *scores = {port.inner_call}"
    better = when(_above(port, "scores[best]"), "best = i")
    top1: list[Statement] = [
        scores,
        "size_t best = 0",
        when("scores == NULL", f"return {size}"),
        loop("size_t", "i", size, better),
        "return best",
    ]
    shift = Compound(
        f"for (; at > 0 && ({_above(port, 'scores[classes[at - 1]]')}); at--)",
        [when("at < k", "classes[at] = classes[at - 1]")],
    )
    insert = loop("size_t", "i", size, "size_t at = count < k ? count++ : k", shift, when("at < k", "classes[at] = i"))
    given = taken(port.options, "size_t *classes", "size_t k", const=True)
    top_k: list[Statement] = [scores, "size_t count = 0", when("scores == NULL", "return 0"), insert, "return count"]
    return [
        Comment(f"The index of the greatest element of the output, the lowest of equals; {size} before init."),
        CFunction(f"static inline size_t {port.named('top1')}({taken(port.options, const=True)})", top1),
        Comment(
            "The indices of the k greatest elements, best first, the lower of equals first, into classes[0 .. k - 1].\n"
            f"Returns how many these are: k, or {size} where k is more; 0 before init."
        ),
        CFunction(f"static inline size_t {port.named('top_k')}({given})", top_k),
    ]


def _above(port: CPort, other: str) -> str:
    """The C condition that score i is greater than another; NaN is less than any number."""
    greater = f"scores[i] > {other}"
    either = f"{greater} || ({other} != {other} && scores[i] == scores[i])"
    return greater if port.tensor.dtype != DType.FLOAT32 else either
