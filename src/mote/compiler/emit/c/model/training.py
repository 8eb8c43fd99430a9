"""Training on the device: C functions that begin a session, learn a sample, end the session, and return loss and
count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mote.compiler.emit.c.c import (
    BLANK,
    CFunction,
    Comment,
    Define,
    Definition,
    Noted,
    Statement,
    assign,
    call,
    loop,
    when,
)
from mote.compiler.emit.c.model import states, weights
from mote.compiler.emit.c.model.conversions import quantization_macros, quantizer
from mote.compiler.emit.c.model.handle import called, handed, taken, variable
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.emit.c.values import CTYPES, ConstantPool
from mote.compiler.lower.values import class_count
from mote.compiler.plan.plan import Plan
from mote.ir.graph import State, Tensor
from mote.ir.graph.types import StateRole

BEGUN = (StateRole.OPTIMIZER, StateRole.LOSS, StateRole.LABEL, StateRole.COUNT)
"""Roles of states that are reset when a training session begins."""


@dataclass(frozen=True, eq=False)
class Training:
    """The states of a model that learns, by their role in training."""

    plan: Plan
    label: State
    target: State | None
    """The target values of a regression."""
    rate: State | None
    """The learning rate."""
    count: State | None
    """Number of learned samples of the class that was learned last."""
    loss: State | None
    begun: tuple[State, ...]
    """States that are reset when a session begins."""

    @property
    def codes(self) -> Tensor | None:
        """The target tensor, if it is quantized; else None."""
        target = None if self.target is None else self.plan.graph.tensors[self.target.before]
        return None if target is None or target.quant is None else target

    @property
    def labels(self) -> int:
        """Number of labels of a sample."""
        return self.label.initial.size

    @property
    def classes(self) -> int:
        """Number of classes."""
        return class_count(self.plan.graph, self.label.before)


def training(plan: Plan) -> Training | None:
    """The training states of a model; None if it does not learn."""
    roles = {s.role: s for s in plan.graph.states}
    if StateRole.LABEL not in roles or StateRole.LEARNED not in roles:
        return None
    begun = tuple(s for s in plan.graph.states if s.role in BEGUN)
    given = (StateRole.TARGET, StateRole.RATE, StateRole.COUNT, StateRole.LOSS)
    target, rate, count, loss = (roles.get(role) for role in given)
    return Training(plan, roles[StateRole.LABEL], target, rate, count, loss, begun)


def beginning(own: Training, options: ProjectOptions) -> str:
    rate = () if own.rate is None else ("float rate",)
    return f"mote_status {options.name}_train_begin({taken(options, *rate)})"


def learning(own: Training, options: ProjectOptions) -> str:
    if own.target is not None:
        element = CTYPES[own.plan.graph.tensors[own.target.before].dtype].name
        return f"mote_status {learning_function(own, options)}({taken(options, f'const {element} *target')})"
    given = "int32_t label" if own.labels == 1 else "const int32_t *labels"
    return f"mote_status {learning_function(own, options)}({taken(options, given)})"


def learning_function(own: Training, options: ProjectOptions) -> str:
    """The name of the C function that learns a sample."""
    return f"{options.name}_train_target" if own.target is not None else f"{options.name}_train"


def ending(options: ProjectOptions) -> str:
    return f"mote_status {options.name}_train_end({taken(options, const=True)})"


def telling_loss(options: ProjectOptions) -> str:
    return f"float {options.name}_loss({taken(options, const=True)})"


def counting(options: ProjectOptions) -> str:
    return f"int32_t {options.name}_learned_samples({taken(options, const=True)})"


def functions(own: Training, options: ProjectOptions, constants: ConstantPool) -> list[Definition]:
    """The definitions of the training functions, which follow the function that runs the model."""
    between = states.between_inferences(options)
    ended = [
        *weights.described(options),
        f"return mote_weights_hold(&own, {_states(options)}) ? MOTE_OK : MOTE_BAD_STATE",
    ]
    return [
        CFunction(
            beginning(own, options),
            [
                *between,
                *([] if own.rate is None else [when("!(rate > 0.0f) || rate > 3.4e38f", "return MOTE_BAD_STATE")]),
                *states.initializing(own.plan, options, constants, own.begun),
                *([] if own.rate is None else [call("memcpy", _at(own, own.rate, options), "&rate", "sizeof rate")]),
                "return MOTE_OK",
            ],
        ),
        CFunction(
            learning(own, options),
            [
                *between,
                *_store_expected(own, options),
                *(["return MOTE_OK"] if own.plan.pushed else _run(own, options, constants)),
            ],
        ),
        CFunction(ending(options), [*between, *ended]),
        *_reader(own, own.loss, telling_loss(options), "float loss", options),
        *_reader(own, own.count, counting(options), "int32_t count", options),
    ]


def _run(own: Training, options: ProjectOptions, constants: ConstantPool) -> list[Statement]:
    """The statements that run the inference that learns; if it fails, the label is cleared, so that no later inference
    learns."""
    return [
        f"const mote_status status = {options.name}_run({handed(options)})",
        when("status != MOTE_OK", *states.initializing(own.plan, options, constants, [own.label])),
        "return status",
    ]


def _states(options: ProjectOptions) -> str:
    return f"{variable(options, 'kept')}.states.bytes"


def _at(own: Training, state: State, options: ProjectOptions) -> str:
    """The C expression for the address of a state."""
    return f"{_states(options)} + {own.plan.place[state.before].offset}"


def _store_expected(own: Training, options: ProjectOptions) -> list[Statement]:
    """The statements that check the label or target of a sample and store it in its state."""
    label = _at(own, own.label, options)
    if own.target is not None:
        nbytes = own.target.initial.nbytes
        return [
            when("target == NULL", "return MOTE_BAD_STATE"),
            call("memcpy", _at(own, own.target, options), "target", nbytes),
            call("memset", label, 0, own.label.initial.nbytes),
        ]
    most = f"{options.name.upper()}_TRAIN_CLASSES"
    if own.labels == 1:
        wrong = f"label < 0 || label >= {most}"
        return [when(wrong, "return MOTE_BAD_STATE"), call("memcpy", label, "&label", "sizeof label")]
    one = "labels[i]"
    return [
        "int32_t largest = -1",
        when("labels == NULL", "return MOTE_BAD_STATE"),
        loop(
            "uint32_t",
            "i",
            own.labels,
            when(f"{one} < -1 || {one} >= {most}", "return MOTE_BAD_STATE"),
            assign("largest", f"{one} > largest ? {one} : largest"),
        ),
        when("largest < 0", "return MOTE_BAD_STATE"),
        call("memcpy", label, "labels", own.label.initial.nbytes),
    ]


def _reader(
    own: Training, state: State | None, signature: str, value: str, options: ProjectOptions
) -> Iterator[Definition]:
    """A function that returns a number in a state; none if there is no such state."""
    if state is not None:
        name = value.split()[-1]
        read = call("memcpy", f"&{name}", _at(own, state, options), f"sizeof {name}")
        yield CFunction(signature, [value, read, f"return {name}"])


def declarations(own: Training, options: ProjectOptions) -> list[Definition]:
    """The declarations of the training functions in the model's header, with comments."""
    name, macro = options.name, options.name.upper()
    parts: list[Definition] = [Comment(_begun(own, options)), beginning(own, options), BLANK]
    if own.target is None:
        classes = Define(f"{macro}_TRAIN_CLASSES", own.classes)
        parts += [Noted(classes, f"labels are 0 to {own.classes - 1}"), BLANK]
    if own.codes is not None:
        parts += _quantizing(own.codes, options)
    parts += [
        Comment(_sample(own, options)),
        learning(own, options),
        BLANK,
        Comment(
            "End a session. MOTE_BAD_STATE: something that was learned is infinite or no number, as after a learning\n"
            f"rate that is too high; then take back what was saved, with {name}_load_weights, or what was shipped,\n"
            f"with {name}_reset. Nothing like that is ever saved or exported. MOTE_DAMAGED: flash no longer says\n"
            "rightly what is learned."
        ),
        ending(options),
        BLANK,
    ]
    if own.loss is not None:
        parts += [
            Comment("The loss of the sample that was learned last, before it was; 0 after a session has begun."),
            telling_loss(options),
            BLANK,
        ]
    if own.count is not None:
        parts += [
            Comment(
                "How many samples it has learned of the class that it learned last, with that one; 0: of the last\n"
                "sample nothing could be learned."
            ),
            counting(options),
            BLANK,
        ]
    return parts


def _quantizing(target: Tensor, options: ProjectOptions) -> list[Definition]:
    """The function that quantizes a target value, and its macros."""
    name, macro = f"{options.name}_quantize_target", f"{options.name.upper()}_TARGET"
    told = Comment(
        "A float as an element of the target: to the nearest, halves away from zero. Numbers out of range become the\n"
        "least or the greatest element, NaN becomes that of 0."
    )
    return [*quantization_macros(macro, target), told, quantizer(name, macro, CTYPES[target.dtype].name, target)]


def _begun(own: Training, options: ProjectOptions) -> str:
    """The comment about the function that begins a session."""
    anew = "what the optimizer remembers is forgotten, what was learned stays."
    if own.rate is None:
        return f"Begin a session of training: {anew}\nMOTE_BUSY in the middle of an inference."
    usual = f"{float(own.rate.initial.reshape(-1)[0]):g}"
    return (
        f"Begin a session of training with a learning rate, such as {usual}, which is the rate without a session:\n"
        f"{anew} MOTE_BAD_STATE: the rate is not above\n"
        "0. MOTE_BUSY in the middle of an inference."
    )


def _sample(own: Training, options: ProjectOptions) -> str:
    """The comment about the function that learns a sample."""
    name = options.name
    what = "its label" if own.labels == 1 else f"the labels of its {own.labels} positions (-1 where none is known)"
    wrong = "a label is no class, or all are -1" if own.labels > 1 else "the label is no class"
    if own.target is not None:
        quantized = "" if own.codes is None else "quantized "
        what = f"the {own.target.initial.size} {quantized}values that its output should have"
        wrong = "there is no target"
    if own.plan.pushed:
        return (
            f"Learn the sample that is pushed next, from {what}: a step follows the inference that it completes,\n"
            f"whose outputs are those before the step. MOTE_BAD_STATE: {wrong}; nothing has changed. MOTE_BUSY:\n"
            "that inference has begun."
        )
    return (
        f"Learn the sample that is in the input, from {what}:\n"
        f"an inference as {name}_run does it, whose outputs are those before the sample was learned, then the step.\n"
        f"MOTE_BAD_STATE: {wrong}; nothing has changed. MOTE_BUSY: an inference was begun with step.\n"
        f"{name}_run itself never learns."
    )


def usage(own: Training, options: ProjectOptions) -> list[str]:
    """The lines about training in the usage example at the top of the header."""
    rate = () if own.rate is None else (f"{float(own.rate.initial.reshape(-1)[0]):g}f",)
    given = "target" if own.target is not None else "label" if own.labels == 1 else "labels"
    learn = called(options, "train_target" if own.target is not None else "train", given)
    saved, loaded = (called(options, f"{verb}_weights", "&my_records") for verb in ("save", "load"))
    sample = f"{learn}; {called(options, 'push', 'samples', 'count')}" if own.plan.pushed else learn
    return [
        f"{called(options, 'train_begin', *rate)};",
        f"while ({'there_is' if own.plan.pushed else 'fill_with'}_a_sample()) {{ {sample}; }}",
        f"if ({called(options, 'train_end')} == MOTE_OK) {{ {saved}; }} else {{ {loaded}; }}",
    ]
