"""`<name>.h`: the API of the generated model, with its documentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from textwrap import fill

import numpy as np

from mote.base.text import printable
from mote.compiler.emit.c.c import BLANK, Comment, Define, Definition, Include, Noted, Text, guarded, printed
from mote.compiler.emit.c.model import training, weights
from mote.compiler.emit.c.model.arenas import arenas, size_macro
from mote.compiler.emit.c.model.conversions import (
    dequantizing,
    is_quantized,
    is_ranked,
    labelling,
    normalizing,
    quantization_macros,
    quantizing,
    ranking,
)
from mote.compiler.emit.c.model.facts import facts
from mote.compiler.emit.c.model.handle import called, taken
from mote.compiler.emit.c.model.opening import signature
from mote.compiler.emit.c.model.ports import CPort, caller_arenas, init_call, inputs, outputs, parameters, pushed_rows
from mote.compiler.emit.c.model.states import resetting, restoring, saved_bytes, saving
from mote.compiler.emit.c.model.variables import instance
from mote.compiler.emit.c.options import CONSTANTS, RAMFUNC_SECTION, STEP_INPUTS, STEP_MARGIN, ProjectOptions, banner
from mote.compiler.emit.c.values import ALIGN, brief, number, quoted, wrap
from mote.compiler.plan.plan import ARENA_ALIGNMENT, Plan
from mote.hardware.targets import ALIGNED
from mote.ir.graph import Tensor
from mote.ir.graph.io_order import model_shape
from mote.ir.ops.control.control_flow import unbounded
from mote.version import __version__

STATUS = Text("""\
#ifndef MOTE_STATUS_DEFINED
#define MOTE_STATUS_DEFINED
typedef enum {
    MOTE_OK = 0,
    MOTE_NOT_READY = 1,    /* init was not called, or has failed */
    MOTE_BAD_ARENA = 2,    /* the arena is missing, too small, or not aligned as the header says */
    MOTE_WRONG = 3,        /* the self-test found a difference */
    MOTE_BUSY = 4,         /* there is more to do: call step again */
    MOTE_WAITING = 5,      /* the next row of the input, or the next frame of a stream, is needed */
    MOTE_BROKEN = 6,       /* debug builds: a kernel wrote outside of its buffers */
    MOTE_BAD_STATE = 7,    /* the saved state is damaged, too short, or not one of this model */
    MOTE_DAMAGED = 8,      /* a constant in flash is not what it was when the model was compiled */
    MOTE_BAD_IMAGE = 9,    /* the runtime: the image is damaged, or no image */
    MOTE_NO_KERNEL = 10,   /* the runtime: the image needs a kernel that the firmware does not have */
    MOTE_UNSUPPORTED = 11, /* the runtime: the image needs a newer runtime, or one with larger limits */
    MOTE_FAILED = 12,      /* an accelerator failed: the outputs mean nothing */
    MOTE_BAD_FLASH = 13    /* flash failed, or is not described as it must be; what was saved before holds */
} mote_status;
#endif
""")

WIDTH = 110
"""Line length of the comment at the top."""
MOST_NOTE = 400
"""Maximum characters of a note in the comment at the top."""
UNALIGNED = """\
Kernels load words from any address: on an Arm core CCR.UNALIGN_TRP must be 0, as it is after reset. For a firmware
that sets it, generate the model with --aligned."""

IN_RAM = f"""\
Inner loops are executed from RAM: the linker script must place the section {RAMFUNC_SECTION} there with its image in
flash, and the start-up code must copy it before init is called, both as for .data. The simplest way is
    *({RAMFUNC_SECTION})
inside of .data. Where a script has such a section already, define MOTE_RAMFUNC when the model is compiled, for example
-D'MOTE_RAMFUNC=__attribute__((section(".RamFunc")))' with STM32CubeIDE, ".time_critical.mote" with the Pico SDK."""


CONSTANTS_IN_RAM = f"""\
Constants are read from RAM, as many as fit: they are in the section {CONSTANTS.section}, which is part of the
.data that start-up code copies from flash in usual linker scripts."""


BY_ROWS = """\
Hand over the next `count` rows and do all that can be done with them. MOTE_WAITING: more rows are
needed; MOTE_OK: they were the last ones, the outputs are there, and the next row begins another
inference. With more rows than this inference needs, the next one begins at once, and the outputs are
those of the last inference that has ended."""
SAMPLED = """\
Hand over the next `count` samples, any number of them, and do all that can be done with them. MOTE_OK: an
inference has ended, and the outputs are its own, or those of the last one where several have; they stay
until the next one ends. MOTE_WAITING: none has ended."""


def text(plan: Plan, options: ProjectOptions, constants: int, tables: Sequence[str] = ()) -> str:
    """The text of a model's header. `constants`: bytes of constants; `tables`: constants inside of functions, which no
    check covers."""
    reads, writes, learns = inputs(plan, options), outputs(plan, options), training.training(plan)
    body: list[Definition] = [
        Text('#include <stddef.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern "C" {\n#endif\n'),
        *_types(plan),
        STATUS,
        *_identity(options),
        *_sizes(plan, options),
        *_instance(plan, options),
        *(d for port in _named_once((*reads, *writes)) for d in port_macros(port)),
        *_init(plan, options),
        *(d for port in ([] if plan.pushed else reads) for d in accessor(port, "Write the input")),
        *(d for port in writes for d in accessor(port, "Read the output")),
        *(_pushing(reads[0], options) if plan.pushed else _running(options)),
        *(_on_two_cores(options) if plan.goal.cores == 2 else []),
        *(_result(options) if options.keep_status else []),
        *(_keeping(plan, options) if plan.graph.states else []),
        *(training.declarations(learns, options) if learns else []),
        *(weights.declarations(plan, options) if weights.learned(plan) else []),
        *_checking(options, tables),
        *(_decrypting(plan, options) if options.cipher else []),
        *(d for port in reads if is_quantized(port) for d in quantizing(port, whole=not plan.pushed)),
        *(d for port in writes if is_quantized(port) for d in dequantizing(port)),
        *(d for port in reads if len(port.normalization) == 1 for d in normalizing(port)),
        *(d for port in writes if is_ranked(port) for d in ranking(port)),
        *labelling(writes),
        Text("#ifdef __cplusplus\n}\n#endif\n"),
    ]
    head = banner(
        options,
        f"{options.name}.h: how to use the model.\n\n{_usage(plan, options)}\n{facts(plan, options, constants)}",
    )
    return printed([head, BLANK, *guarded(f"{options.name.upper()}_H", *body)])


def _types(plan: Plan) -> list[Definition]:
    """Includes of the types that describe flash memory to a model that learns."""
    return [Include(weights.TYPES), BLANK] if weights.learned(plan) else []


def _usage(plan: Plan, options: ProjectOptions) -> str:
    """Usage example and rules, for the comment at the top."""
    writes = outputs(plan, options)
    best = (called(options, f"top1{port.suffix}") for port in writes if is_ranked(port))
    results = ", ".join([*(port.call for port in writes), *best])
    noticed = "".join(f" && {p.call}[{p.macro}_{p.noticed[0]}]{p.noticed[1]}" for p in writes if p.numbers)
    use = f"{noticed}) {{ act(); }}" if noticed else f") {{ use({results}); }}"
    lines = [*caller_arenas(plan, options), f"if ({init_call(plan, options)} != MOTE_OK) {{ handle_the_error(); }}"]
    if plan.pushed:
        lines += [
            f"while ({called(options, 'push', 'next_row()', '1')} == MOTE_WAITING) {{ }}",
            f"use({results});",
        ]
        note = "The input is never held whole: rows come from the top. Outputs stay valid until the next row."
        if options.samples:
            lines[-2:] = [f"if ({called(options, 'push', 'samples', 'count')} == MOTE_OK{use}"]
            note = "Samples are pushed as they come, any number at a time. Outputs stay valid until the next ones."
    else:
        lines += [
            *(_fill(port) for port in inputs(plan, options)),
            f"if ({called(options, 'run')} == MOTE_OK{use}",
        ]
        stay = "the model's next run" if options.keep_outputs else "inputs are written or the next run"
        note = f"Inputs are overwritten by a run; outputs stay valid until {stay}."
    if learns := training.training(plan):
        lines += training.usage(learns, options)
    if loops := unbounded(plan.graph):
        names = ", ".join(dict.fromkeys(brief(op.name) for op in loops))
        note += (
            "\nHow long a run takes, and whether it ends, depends on the inputs: loops go on while a condition holds"
        )
        note += f"\n({names})."
    if options.shared_arena:
        note += "\nOther models use the same memory: mote_models.h says what that means."
    for told in (*options.notes, options.measured):
        note += f"\n{fill(printable(told[:MOST_NOTE]), WIDTH, break_on_hyphens=False)}"
    if ALIGNED not in plan.how.features and any(step.kernel.isa for step in plan.steps):
        note += f"\n{UNALIGNED}"
    if options.code_in_ram:
        note += f"\n{IN_RAM}"
    if any(memory.section == CONSTANTS.section for memory in options.flashes):
        note += f"\n{CONSTANTS_IN_RAM}"
    shown = "\n".join(f"    {line}" for line in lines)
    return f"{shown}\n\n{_rules(plan, options)}\n{note}"


def _rules(plan: Plan, options: ProjectOptions) -> str:
    """Rules about memory, threads and the order of calls."""
    if options.instances:
        arena = " and the arena that init was given" if options.caller_arena else ""
        return (
            f"No heap, no recursion, no variables but those of the instance{arena}. Reentrant: calls for\n"
            "different instances may come from any threads and interrupts at once; those for one instance come one\n"
            "after another. Before init, and after one that failed, functions return MOTE_NOT_READY and pointers are\n"
            "NULL."
        )
    kept = ", what the model remembers" if plan.graph.states else ""
    two_cores = f" ({options.name}_run_core on the\nother core excepted)" if plan.goal.cores == 2 else ""
    return (
        f"No heap, no recursion, no other state than the arena{kept} and a few counters. Not reentrant: one\n"
        "inference at a time, and no call of a function here while another one has not returned, be it from an\n"
        f"interrupt or another thread{two_cores}. Before init, and after one that failed, functions"
        " return MOTE_NOT_READY and\npointers are NULL."
    )


def _fill(port: CPort) -> str:
    """The line of the usage example that writes an input: from bytes, or from floats if it is quantized."""
    copy = f"memcpy({port.call}, my_data, {port.macro}_BYTES);"
    quantize = called(port.options, f"quantize_input{port.suffix}", "my_floats")
    return f"{quantize};   or   {copy}" if is_quantized(port) else copy


def _instance(plan: Plan, options: ProjectOptions) -> list[Definition]:
    """The type of an instance, if all variables of the model are members of one."""
    if not options.instances:
        return []
    return [*([ALIGN] if plan.alignment > ARENA_ALIGNMENT else []), *instance(plan, options)]


def _running(options: ProjectOptions) -> list[Definition]:
    return [
        Comment(
            "One inference: reads the inputs, writes the outputs. What the inputs held is lost. An inference that was\n"
            "begun with step is finished."
        ),
        f"mote_status {options.name}_run({taken(options)})",
        BLANK,
        Comment(
            "The same in pieces, for a core that has other things to do as well: one piece of work, then\n"
            "MOTE_BUSY while there is more to do, MOTE_OK after the last one."
        ),
        *_step(options),
    ]


def _on_two_cores(options: ProjectOptions) -> list[Definition]:
    """Declaration of the function that two cores call for one inference."""
    name = options.name
    return [
        Comment(
            "One inference on two cores: called once with core 0, by the core that writes the inputs, and once with\n"
            "core 1 by the other one, which computes its share of every layer that is split and returns MOTE_OK. Both\n"
            "return when the outputs are there. Core 1 may call it earlier, and then waits. If core 0 gets\n"
            "MOTE_NOT_READY or MOTE_BUSY it has not met core 1, which goes on waiting for the next inference. Both\n"
            "cores must see the RAM of the model alike. They wait for each other in mote_barrier.h, or in a function\n"
            f"of the firmware, void my_barrier(uint32_t core): compile {name}.c with -DMOTE_BARRIER=my_barrier.\n"
            f"{name}_run and {name}_step compute the shares of both on one core, with the same results."
        ),
        f"mote_status {name}_run_core(uint32_t core)",
        BLANK,
    ]


def _pushing(port: CPort, options: ProjectOptions) -> list[Definition]:
    name, rows = options.name, pushed_rows(port)
    return [
        Comment(_samples(port) if options.samples else f"The input comes as {rows} rows, top to bottom."),
        Define(f"{port.macro}_ROWS", rows),
        Noted(Define(f"{port.macro}_ROW_SIZE", port.tensor.size // rows), "elements"),
        Define(f"{port.macro}_ROW_BYTES", port.tensor.nbytes // rows),
        BLANK,
        Comment(SAMPLED if options.samples else BY_ROWS),
        f"mote_status {name}_push({taken(options, f'const {port.ctype} *rows', 'size_t count')})",
        BLANK,
        Comment(
            "The same in pieces, for a core that has other things to do as well: hand over one row, then call step\n"
            "while it is MOTE_BUSY. A row is taken only when nothing else is left to do (MOTE_BUSY: it was not)."
        ),
        f"mote_status {name}_push_row({taken(options, f'const {port.ctype} *row')})",
        *_step(options),
    ]


def _samples(port: CPort) -> str:
    """The comment about an input that is pushed as samples of a sensor."""
    elements = port.tensor.size // port.options.samples
    channels = f", each of {elements} channels" if elements > 1 else ""
    return (
        f"Samples of the sensor are pushed as they come{channels}. A row below is one sample; an inference takes\n"
        f"{port.options.samples} new ones."
    )


def _result(options: ProjectOptions) -> list[Definition]:
    """Declaration of the function that returns the status of the last run."""
    return [
        Comment("How the last run ended: its return value, or MOTE_NOT_READY before the first one."),
        f"mote_status {options.name}_status({taken(options, const=True)})",
        BLANK,
    ]


def _step(options: ProjectOptions) -> list[Definition]:
    """Declaration of the step function, with the instructions of the longest step, if measured."""
    step: list[Definition] = [f"mote_status {options.name}_step({taken(options)})", BLANK]
    if options.longest_step is None:
        return step
    return [
        *step,
        Comment(
            f"Instructions of the longest step in {STEP_INPUTS} inferences on generated inputs, counted on\n"
            f"{options.target} as Mote builds the model, and {STEP_MARGIN}% more. It is no bound: a step may take\n"
            "longer for other inputs, and as another compiler builds it."
        ),
        Define(f"{options.name.upper()}_STEP_INSTRUCTIONS", options.longest_step),
        BLANK,
    ]


def _keeping(plan: Plan, options: ProjectOptions) -> list[Definition]:
    """Declarations of functions that reset, save and restore persistent state."""
    name, waiting = options.name, plan.graph.warm_up - 1
    first: list[Definition] = [
        Comment(
            f"The first {waiting} runs return MOTE_WAITING: not all of the window has come yet, and the\n"
            "outputs mean nothing."
        ),
        Define(f"{name.upper()}_WARM_UP", waiting),
        BLANK,
    ]
    return [
        *(first if waiting > 0 else []),
        Comment("Bytes of a saved state: what the model remembers from one run to the next, and what tells it apart."),
        Define(f"{name.upper()}_STATE_BYTES", saved_bytes(plan)),
        BLANK,
        Comment("Forget everything, as after init."),
        resetting(options),
        BLANK,
        Comment(
            "Copy what is remembered to memory of yours, and back: the model goes on from there. MOTE_BUSY in the\n"
            "middle of an inference. MOTE_BAD_STATE: there are fewer bytes than a state has, or they are not what\n"
            "this model has saved (a version, the size, the model and a CRC-32 are compared); nothing has changed."
        ),
        saving(options),
        restoring(options),
        BLANK,
    ]


def _checking(options: ProjectOptions, tables: Sequence[str]) -> list[Definition]:
    """Declaration of the function that checks constants in flash."""
    when = "Init does this too." if options.check_flash else "The linker drops this where nobody calls it."
    not_covered = "; ".join(
        [
            "code, with the literals and jump tables that the compiler makes for it",
            *([f"tables in functions, which no other code reaches ({', '.join(tables)})"] if tables else []),
            "the check's own tables, which say begin, end and length of what they name and are compared",
            "C that Mote did not write, and the names of classes, which no inference reads",
        ]
    )
    return [
        Comment(
            "Compare the CRC-32 of weights, tables and parameters in flash with that of the compiled model:\n"
            f"MOTE_OK, or MOTE_DAMAGED where a bit has changed. May be called at any time. {when}\n"
            f"{fill(f'Not covered: {not_covered}.', 112)}"
        ),
        f"mote_status {options.name}_check(void)",
        BLANK,
    ]


def _decrypting(plan: Plan, options: ProjectOptions) -> list[Definition]:
    """Declaration of the hook that decrypts constants, and what it must do."""
    macro = options.name.upper()
    most = max((s.kernel.sealed.nbytes for p in plan.all for s in p.steps if s.kernel.sealed), default=0)
    return [
        Comment(
            "Constants of layers are encrypted in flash: AES-CTR with the key that the model was compiled with, which\n"
            "is in no file of it. Your firmware defines this function: `bytes` bytes at `from` are decrypted to `to`,\n"
            "the first with the key stream of the block `counter`, which goes up by 1 for each 16 bytes as one\n"
            "big-endian number. It returns 0, or another number if it fails; the model then returns MOTE_NOT_READY\n"
            "until init succeeds. Init calls it as well: MOTE_DAMAGED means that it has another key."
        ),
        signature(options),
        BLANK,
        Comment("Bytes that it decrypts in an inference, and at most in one call; these are part of the arena."),
        Define(f"{macro}_DECRYPTED_BYTES", plan.decrypted),
        Define(f"{macro}_DECRYPTED_AT_ONCE", most),
        BLANK,
    ]


def port_macros(port: CPort) -> list[Definition]:
    """The macros of an input or output: size, shape, quantization and class names."""
    t, macro = port.tensor, port.macro
    dims = ", ".join(map(str, t.shape)) or "1"
    return [
        Comment(f"{brief(t.name)}: {t.dtype} [{dims}]{_lying(t)}"),
        Noted(Define(f"{macro}_SIZE", t.size), "elements"),
        Define(f"{macro}_BYTES", t.nbytes),
        Define(f"{macro}_SHAPE", f"{{{dims}}}"),
        Define(f"{macro}_RANK", max(len(t.shape), 1)),
        *quantization_macros(macro, t),
        *_numbers(port),
        *_normalization(port),
        *_names(port),
        BLANK,
    ]


def _names(port: CPort) -> list[Definition]:
    """Names of an input's features, or of an output's classes, as an initializer macro, which costs nothing unless
    used."""
    if not port.labels:
        return []
    names = wrap([f'"{quoted(label)}"' for label in port.labels]).replace("\n", " \\\n")
    one = f"{{{names.strip().removesuffix(',')}}}" if "\n" not in names else f"{{ \\\n{names} \\\n}}"
    macro = f"{port.macro}_{'FEATURES' if port.is_input else 'CLASSES'}"
    what = "Its elements in order" if port.is_input else "Its classes 0, 1, .."
    return [Comment(f"{what}: static const char *const names[] = {macro};"), Define(macro, one)]


def _named_once(ports: Sequence[CPort]) -> list[CPort]:
    """The ports; of several with equal labels only the first keeps them, as the macro is defined once."""
    first = {port.labels: port for port in reversed(ports)}
    return [port if first[port.labels] is port else replace(port, labels=()) for port in ports]


def _numbers(port: CPort) -> list[Definition]:
    """Macros for the columns of a decision output (such as detections), and for the quantization of its score."""
    if not port.numbers:
        return []
    macro, scores = port.macro, port.scores
    named = [Noted(Define(f"{macro}_{name}", i), told) for i, (name, told) in enumerate(port.numbers)]
    if scores is None or scores.quant is None or scores.dtype.real:
        return [*named]
    scale = Define(f"{macro}_SCORE_SCALE", f"{scores.quant.scale[0]!s}f")
    return [
        *named,
        Noted(scale, "real = scale * (score - zero_point)"),
        Define(f"{macro}_SCORE_ZERO_POINT", f"({scores.zero_point})"),
    ]


def _normalization(port: CPort) -> list[Definition]:
    """Macros for mean and standard deviation of an input: numbers, or an initializer with one number per channel."""
    if not port.normalization:
        return []
    values = [[number(np.float32(x)) for x in column] for column in zip(*port.normalization, strict=True)]
    mean, deviation = (x[0] if len(x) == 1 else f"{{{', '.join(x)}}}" for x in values)
    note = "(raw - mean) / std of the raw data, as the metadata of the model file says"
    each = "" if len(port.normalization) == 1 else ", for each channel"
    return [
        Comment(f"Its values are {note}{each}."),
        Define(f"{port.macro}_MEAN", mean),
        Define(f"{port.macro}_STD", deviation),
    ]


def _lying(t: Tensor) -> str:
    """A note on the element order in the model file, if the generated code uses another one (channels last)."""
    if t.arrangement is None:
        return ""
    names = ["n", "c", *"zyx"[5 - len(t.shape) :]] if len(t.shape) <= 5 else [f"i{a}" for a in range(len(t.shape))]
    here = "".join(f"[{name}]" for name in (names[0], *names[2:], names[1]))
    there = "".join(f"[{name}]" for name in names)
    shape = ", ".join(map(str, model_shape(t)))
    return f"\nwith channels last: the model has [{shape}], whose element {there} is {here} here"


def _identity(options: ProjectOptions) -> list[Definition]:
    """Macros that identify the model file and the version of Mote."""
    macro = options.name.upper()
    own: list[Definition] = []
    if options.digest:
        own = [
            Comment("The SHA-256 of the model file, and the first 32 bits of it as a number."),
            Define(f"{macro}_MODEL_SHA256", f'"{options.digest}"'),
            Define(f"{macro}_MODEL_HASH", f"0x{options.digest[:8]}u"),
        ]
    if options.version:
        own.append(Define(f"{macro}_VERSION", f'"{quoted(options.version)}"'))
    return [*own, Define(f"{macro}_MOTE_VERSION", f'"{quoted(__version__)}"'), BLANK]


def _sizes(plan: Plan, options: ProjectOptions) -> list[Definition]:
    """Macros for the sizes of the arenas, named by memory; the first one also has a fixed name."""
    own = arenas(plan)
    always = Define(f"{options.name.upper()}_ARENA_BYTES", own[0].macro(options))
    return [
        Comment("Working memory in bytes; every tensor lives in it."),
        *(size_macro(a.macro(options), a.nbytes, a.memory) for a in own),
        *([always] if plan.memories else []),
        BLANK,
    ]


def _init(plan: Plan, options: ProjectOptions) -> list[Definition]:
    why = "Before anything else."
    if options.caller_arena:
        sizes = " and ".join(a.macro(options) for a in arenas(plan))
        why = (
            f"Before anything else: give the model its working memory ({sizes} or more bytes,\n"
            f"aligned to {plan.alignment}). It may be used for other things between runs."
        )
    return [Comment(why), f"mote_status {options.name}_init({parameters(plan, options)})", BLANK]


def accessor(port: CPort, what: str) -> list[Definition]:
    """The declaration of the function that returns a pointer to an input or output."""
    return [Comment(f"{what} ({port.tensor.size} elements) here."), port.signature, BLANK]
