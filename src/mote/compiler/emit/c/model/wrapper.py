"""`<name>.hpp`: a C++17 class over the functions of `<name>.h`."""

from __future__ import annotations

import re

from mote.compiler.emit.c.c import printed
from mote.compiler.emit.c.model import training, weights
from mote.compiler.emit.c.model.arenas import arenas
from mote.compiler.emit.c.model.conversions import is_quantized, is_ranked, labelled
from mote.compiler.emit.c.model.handle import HANDLE, instance_type
from mote.compiler.emit.c.model.header import STATUS
from mote.compiler.emit.c.model.ports import CPort, arena_definitions, inputs, outputs
from mote.compiler.emit.c.options import ProjectOptions, banner
from mote.compiler.emit.c.values import CTYPES
from mote.compiler.plan.plan import Plan

_CODES = re.findall(r"\bMOTE_(\w+) = ", STATUS.text)

SHARED = f"""\
/* What the classes of all models share. */
#ifndef MOTE_CPP_DEFINED
#define MOTE_CPP_DEFINED
namespace mote {{

/* The status of a call: that of the C function, or bad_size from this file. */
enum class [[nodiscard]] status : int {{
{"".join(f"    {code.lower()} = MOTE_{code},{chr(10)}" for code in _CODES)}\
    bad_size = 64 /* a buffer has another number of elements than the model wants; nothing was done */
}};

/* Contiguous elements that belong to somebody else: a pointer and a size, as std::span, which C++20 converts it to. */
template <typename T> class view {{
  public:
    constexpr view() noexcept = default;
    constexpr view(T *elements, size_t count) noexcept : begin_(elements), size_(elements == nullptr ? 0 : count) {{}}
    template <size_t count> constexpr view(T (&elements)[count]) noexcept : view(elements, count) {{}}

    /* Of anything with data() and size(): std::array, std::vector, std::span, a view of elements to write. */
    template <typename C>
    using viewed = decltype(view(static_cast<C *>(nullptr)->data(), static_cast<C *>(nullptr)->size()));
    template <typename C, typename = viewed<C>>
    constexpr view(C &elements) noexcept : view(elements.data(), elements.size()) {{}}
    template <typename C, typename = viewed<C>>
    constexpr view(C &&elements) noexcept : view(elements.data(), elements.size()) {{}}

    [[nodiscard]] constexpr T *data() const noexcept {{ return begin_; }}
    [[nodiscard]] constexpr size_t size() const noexcept {{ return size_; }}
    [[nodiscard]] constexpr bool empty() const noexcept {{ return size_ == 0; }}
    [[nodiscard]] constexpr T *begin() const noexcept {{ return begin_; }}
    [[nodiscard]] constexpr T *end() const noexcept {{ return begin_ + size_; }}
    [[nodiscard]] constexpr T &operator[](size_t i) const noexcept {{ return begin_[i]; }}

  private:
    T *begin_ = nullptr;
    size_t size_ = 0;
}};

}} /* namespace mote */

#ifdef __cpp_lib_span
template <typename T> inline constexpr bool std::ranges::enable_borrowed_range<mote::view<T>> = true;
#endif
#endif
"""


def text(plan: Plan, options: ProjectOptions) -> str:
    """The C++ header of a model."""
    name = options.name
    guard = f"{name.upper()}_HPP"
    head = printed([banner(options, f"{name}.hpp: the model as a C++17 class.\n\n{_usage(plan, options)}")])
    return f"""\
{head}
#ifndef {guard}
#define {guard}

#include <stddef.h>
#include <stdint.h>
#if defined(__has_include)
#if __cplusplus >= 202002L && __has_include(<span>)
#include <span>
#endif
#endif

#include "{name}.h"

{SHARED}
namespace mote {{

{_class(plan, options)}
}} /* namespace mote */

#endif
"""


def class_name(options: ProjectOptions) -> str:
    return f"{options.name}_model"


def _usage(plan: Plan, options: ProjectOptions) -> str:
    reads, writes = inputs(plan, options), outputs(plan, options)
    own = arenas(plan) if options.caller_arena else []
    lines = arena_definitions(plan, options)
    given = f"({', '.join(a.pointer for a in own)})" if own else ""
    lines += [f"mote::{class_name(options)} model{given};", "if (!model) { handle_the_error(model.started()); }"]
    used = ", ".join(f"model.output{port.suffix}()" for port in writes)
    if plan.pushed:
        lines += ["while (model.push(next_row()) == mote::status::waiting) { }", f"use({used});"]
    else:
        lines += [f"fill(model.input{port.suffix}());" for port in reads]
        lines += [f"if (model.run() == mote::status::ok) {{ use({used}); }}"]
    shown = "\n".join(f"    {line}" for line in lines)
    return (
        f"{shown}\n\n"
        "Header only; no exceptions, no run-time type information, no heap, and no library but <span> where C++20 has\n"
        "it. The rules of the C header hold here too."
    )


def _class(plan: Plan, options: ProjectOptions) -> str:
    own = options.instances
    kind = f"An instance of the model: {instance_type(options)} is a member, and copied with it."
    if own and options.caller_arena:
        kind = "An instance of the model, which uses the arena until it is destroyed."
    if not own:
        kind = "The model, whose variables are static: of several objects at once only the first has it."
    learns = training.training(plan)
    parts = [
        *_construction(plan, options),
        *(line for port in ([] if plan.pushed else inputs(plan, options)) for line in _input(port)),
        *(line for port in outputs(plan, options) for line in _output(port)),
        *(line for port in inputs(plan, options) for line in _constants(port)),
        *(line for port in outputs(plan, options) for line in _constants(port)),
        *_labels(plan, options),
        *_running(plan, options),
        *(_keeping(options) if plan.graph.states else []),
        *(_training(learns, options) if learns else []),
        *(_learned(options) if weights.learned(plan) else []),
        "/* Compare constants in flash with their CRC-32. */",
        f"static status check() noexcept {{ return as({options.name}_check()); }}",
    ]
    body = "\n".join(f"    {line}" if line else "" for line in parts)
    return f"""\
/* {kind} */
class {class_name(options)} {{
  public:
{body}

  private:
    static constexpr status as(mote_status code) noexcept {{ return static_cast<status>(code); }}

{_members(options)}
}};
"""


def _members(options: ProjectOptions) -> str:
    if options.instances:
        return f"    {instance_type(options)} {HANDLE} = {{}};\n    status started_;"
    return "    inline static bool taken_ = false;\n    bool owner_ = false;\n    status started_ = status::not_ready;"


def _given(options: ProjectOptions, *arguments: str) -> str:
    """The argument list of a C function called for this object's model."""
    return ", ".join((*([f"&{HANDLE}"] if options.instances else []), *arguments))


def _construction(plan: Plan, options: ProjectOptions) -> list[str]:
    """The constructors, the destructor, and the status of the initialization."""
    kind = class_name(options)
    own = arenas(plan) if options.caller_arena else []
    taken = ", ".join(f"view<uint64_t> {a.pointer}" for a in own)
    given = [part for a in own for part in (f"{a.pointer}.data()", f"8 * {a.pointer}.size()")]
    begin = f"as({_call(options, 'init', *given)})"
    explicit = "explicit " if len(own) == 1 else ""
    told = "/* Initializes the model. An object that is false does nothing: every call returns not_ready. */"
    lines = [told]
    if options.instances:
        lines.append(f"{explicit}{kind}({taken}) noexcept : started_({begin}) {{}}")
    else:
        lines += [
            f"{explicit}{kind}({taken}) noexcept {{",
            "    if (!taken_) {",
            f"        started_ = {begin};",
            "        taken_ = owner_ = true;",
            "    }",
            "}",
            f"~{kind}() {{",
            "    if (owner_) {",
            "        taken_ = false;",
            "    }",
            "}",
        ]
    if own or not options.instances:
        lines += [f"{kind}(const {kind} &) = delete;", f"{kind} &operator=(const {kind} &) = delete;"]
    return [
        *lines,
        "",
        "/* The status of the initialization. */",
        "status started() const noexcept { return started_; }",
        "explicit operator bool() const noexcept { return started_ == status::ok; }",
        "",
        "/* Bytes of working memory. */",
        f"static constexpr size_t arena_bytes = {' + '.join(a.macro(options) for a in arenas(plan))};",
        "",
    ]


def _call(options: ProjectOptions, function: str, *arguments: str) -> str:
    """The call of a C function for this object's model."""
    return f"{options.name}_{function}({_given(options, *arguments)})"


def _returned(options: ProjectOptions, value: str, otherwise: str = "status::not_ready") -> str:
    """The return statement; `otherwise`: the value if another object has the static model."""
    return f"return {value};" if options.instances else f"return owner_ ? {value} : {otherwise};"


def _method(signature: str, *statements: str) -> list[str]:
    """The lines of a method: one line if it has one statement."""
    if len(statements) == 1:
        return [f"{signature} noexcept {{ {statements[0]} }}"]
    return [f"{signature} noexcept {{", *(f"    {line}" for line in statements), "}"]


def _sized(condition: str) -> str:
    return f"if ({condition}) {{ return status::bad_size; }}"


def _input(port: CPort) -> list[str]:
    options, kind = port.options, f"view<{port.element}>"
    elements = f"{kind}({_call(options, f'input{port.suffix}')}, {port.macro}_SIZE)"
    quantize = _call(options, f"quantize_input{port.suffix}", "values.data()")
    quantizing = [
        "/* Quantizes floats into the input. */",
        *_method(
            f"status quantize_input{port.suffix}(view<const float> values)",
            _sized(f"values.size() != {port.macro}_SIZE"),
            _returned(options, f"as({quantize})"),
        ),
    ]
    return [
        f"/* The {port.tensor.size} elements of the input; none if the model is not ready. */",
        *_method(f"[[nodiscard]] {kind} input{port.suffix}()", _returned(options, elements, f"{kind}()")),
        *(quantizing if is_quantized(port) else []),
        "",
    ]


def _output(port: CPort) -> list[str]:
    options, kind = port.options, f"view<const {port.element}>"
    elements = f"{kind}({_call(options, f'output{port.suffix}')}, {port.macro}_SIZE)"
    top1 = _call(options, f"top1{port.suffix}")
    top_k = _call(options, f"top_k{port.suffix}", "classes.data()", "classes.size()")
    ranking = [
        "/* The index of the greatest element; the number of elements if the model is not ready. */",
        *_method(f"[[nodiscard]] size_t top1{port.suffix}() const", _returned(options, top1, f"{port.macro}_SIZE")),
        "/* The indices of the greatest elements, best first, as many as there is room for; their number. */",
        *_method(f"size_t top_k{port.suffix}(view<size_t> classes) const", _returned(options, top_k, "0")),
    ]
    return [
        f"/* The {port.tensor.size} elements of the output; none if the model is not ready. */",
        *_method(f"[[nodiscard]] {kind} output{port.suffix}() const", _returned(options, elements, f"{kind}()")),
        *(ranking if is_ranked(port) else []),
        "",
    ]


def _labels(plan: Plan, options: ProjectOptions) -> list[str]:
    """The methods that return the names of classes."""
    return [
        line
        for function in labelled(outputs(plan, options))
        for line in (
            '/* The name of a class; "" where there is no such class. */',
            *_method(f"[[nodiscard]] static const char *{function}(size_t i)", f"return {options.name}_{function}(i);"),
        )
    ]


def _constants(port: CPort) -> list[str]:
    """The macros of an input or output as constants, and the methods that convert one element."""
    name = f"{'input' if port.is_input else 'output'}{port.suffix}"
    lines = [f"static constexpr size_t {name}_size = {port.macro}_SIZE;"]
    if port.is_input and len(port.normalization) == 1:
        signature = f"[[nodiscard]] static float normalize{port.suffix}(float raw)"
        lines += _method(signature, f"return {port.named('normalize')}(raw);")
    if not is_quantized(port):
        return lines
    lines += [
        f"static constexpr float {name}_scale = {port.macro}_SCALE;",
        f"static constexpr int32_t {name}_zero_point = {port.macro}_ZERO_POINT;",
    ]
    if port.is_input:
        signature = f"[[nodiscard]] static {port.element} quantize{port.suffix}(float value)"
        return [*lines, *_method(signature, f"return {port.named('quantize')}(value);")]
    signature = f"[[nodiscard]] static float dequantize{port.suffix}({port.element} element)"
    return [*lines, *_method(signature, f"return {port.named('dequantize')}(element);")]


def _running(plan: Plan, options: ProjectOptions) -> list[str]:
    step = [
        "/* One piece of work: busy while there is more to do. */",
        *_method("status step()", _returned(options, f"as({_call(options, 'step')})")),
        "",
    ]
    if not plan.pushed:
        run = _method("status run()", _returned(options, f"as({_call(options, 'run')})"))
        return ["", "/* One inference. */", *run, *(_on_two_cores(options) if plan.goal.cores == 2 else []), *step]
    (port,) = inputs(plan, options)
    size = f"{port.macro}_ROW_SIZE"
    push = _call(options, "push", "rows.data()", f"rows.size() / {size}")
    return [
        f"static constexpr size_t input_rows = {port.macro}_ROWS;",
        f"static constexpr size_t input_row_size = {size};",
        "",
        "/* Passes whole rows of the input, and does all that can be done with them: waiting while more are needed. */",
        *_method(
            f"status push(view<const {port.element}> rows)",
            _sized(f"rows.size() % {size} != 0"),
            _returned(options, f"as({push})"),
        ),
        "/* Passes one row, for whoever calls step then; busy: it was not taken. */",
        *_method(
            f"status push_row(view<const {port.element}> row)",
            _sized(f"row.size() != {size}"),
            _returned(options, f"as({_call(options, 'push_row', 'row.data()')})"),
        ),
        *step,
    ]


def _on_two_cores(options: ProjectOptions) -> list[str]:
    share = _returned(options, f"as({_call(options, 'run_core', 'core')})")
    return ["/* One inference on two cores: both call it. */", *_method("status run_core(uint32_t core)", share)]


def _keeping(options: ProjectOptions) -> list[str]:
    state = ("state.data()", "state.size()")
    return [
        "/* Persistent state: forget it, copy it to memory of yours, and back. */",
        f"static constexpr size_t state_bytes = {options.name.upper()}_STATE_BYTES;",
        *_method("status reset()", _returned(options, f"as({_call(options, 'reset')})")),
        *_method("status save(view<uint8_t> state) const", _returned(options, f"as({_call(options, 'save', *state)})")),
        *_method(
            "status restore(view<const uint8_t> state)", _returned(options, f"as({_call(options, 'restore', *state)})")
        ),
        "",
    ]


def _training(own: training.Training, options: ProjectOptions) -> list[str]:
    """The methods that learn samples."""
    rate = () if own.rate is None else ("rate",)
    begin = f"as({_call(options, 'train_begin', *rate)})"
    end = f"as({_call(options, 'train_end')})"
    lines = [
        "/* Training: begin a session, learn the sample in the input, end. */",
        *_method(f"status train_begin({'float rate' if rate else ''})", _returned(options, begin)),
        *_learning(own, options),
        *_method("status train_end() const", _returned(options, end)),
    ]
    if own.loss is not None:
        lines += _method("[[nodiscard]] float loss() const", _returned(options, _call(options, "loss"), "0.0f"))
    if own.count is not None:
        told = _returned(options, _call(options, "learned_samples"), "0")
        lines += _method("[[nodiscard]] int32_t learned_samples() const", told)
    return [*lines, ""]


def _learning(own: training.Training, options: ProjectOptions) -> list[str]:
    """The method that learns a sample."""
    if own.target is None and own.labels == 1:
        learn = f"as({_call(options, 'train', 'label')})"
        return _method("status train(int32_t label)", _returned(options, learn))
    name, size, element = "train", own.labels, "int32_t"
    if own.target is not None:
        name, size = "train_target", own.target.initial.size
        element = CTYPES[own.plan.graph.tensors[own.target.before].dtype].name
    quantize = f"return {options.name}_quantize_target(value);"
    return [
        *(_method(f"[[nodiscard]] static {element} quantize_target(float value)", quantize) if own.codes else []),
        *_method(
            f"status {name}(view<const {element}> right)",
            _sized(f"right.size() != {size}"),
            _returned(options, f"as({_call(options, name, 'right.data()')})"),
        ),
    ]


def _learned(options: ProjectOptions) -> list[str]:
    """The methods that save and load what was learned."""
    record = ("record.data()", "record.size()")
    save, load = (_returned(options, f"as({_call(options, f'{verb}_weights', '&flash')})") for verb in ("save", "load"))
    to, back = (_returned(options, f"as({_call(options, f'{v}_weights', *record)})") for v in ("export", "import"))
    return [
        "/* What was learned: to flash and back, and how often it was saved there; to memory of yours and back. */",
        f"static constexpr size_t weights_bytes = {options.name.upper()}_WEIGHTS_BYTES;",
        *_method("status save_weights(const mote_records_t &flash) const", save),
        *_method("status load_weights(const mote_records_t &flash)", load),
        *_method(
            "[[nodiscard]] static uint32_t saved_weights(const mote_records_t &flash)",
            f"return {options.name}_saved_weights(&flash);",
        ),
        *_method("status export_weights(view<uint8_t> record) const", to),
        *_method("status import_weights(view<const uint8_t> record)", back),
        "",
    ]
