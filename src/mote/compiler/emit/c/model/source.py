"""`<name>.c`: constants, the parameters of kernels, and the function that runs the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mote.compiler.emit.c.c import (
    BLANK,
    Accessor,
    CFunction,
    Comment,
    Compound,
    Define,
    Definition,
    Include,
    Statement,
    Switch,
    Template,
    Text,
    assign,
    call,
    guarded,
    loop,
    when,
)
from mote.compiler.emit.c.model import checks, opening, states, training, weights
from mote.compiler.emit.c.model.arenas import arenas, places, sections
from mote.compiler.emit.c.model.checks import Checked, array_span
from mote.compiler.emit.c.model.handle import HANDLE, handed, taken, variable
from mote.compiler.emit.c.model.ports import CPort, inputs, outputs, parameters
from mote.compiler.emit.c.model.requirements import requirements
from mote.compiler.emit.c.model.steps.context import element_of
from mote.compiler.emit.c.model.steps.pointers import other_elements
from mote.compiler.emit.c.model.steps.printed import Printed, printed
from mote.compiler.emit.c.model.steps.tensors import BOTH, CORES, SECOND
from mote.compiler.emit.c.model.variables import filled_type, noted, result_offsets, row_elements, static_variables
from mote.compiler.emit.c.options import ProjectOptions, banner
from mote.compiler.emit.c.values import ALIGN, ConstantPool
from mote.compiler.kernels.contract import ALIGNMENT, Packed
from mote.compiler.kernels.structs import Field, kernel_fields
from mote.compiler.lower.program import Form, Program
from mote.compiler.offload.contract import WAIT
from mote.compiler.plan.plan import ARENA_ALIGNMENT, Plan
from mote.hardware.targets import ALIGNED, Memory
from mote.ir.graph.tolerance import computes_floats

BY_ROWS = frozenset({Form.ROW, Form.EACH, Form.ROWS, Form.SUMS, Form.ARRIVAL})


def constants(options: ProjectOptions, pool: ConstantPool) -> list[Definition]:
    """The definitions in `<name>_constants.h`: weights and tables."""
    head = banner(options, f"{options.name}_constants.h: weights and tables, kept in flash.")
    guard = f"{options.name.upper()}_CONSTANTS_H"
    return [head, *guarded(guard, Include("mote_common.h"), BLANK, *pool.definitions)]


@dataclass(frozen=True)
class ModelSource:
    """The parts of a model's C, which are combined to a file of one model, or of several models that share kernels."""

    name: str
    requirements: Sequence[Definition]
    """Compile-time checks of the C compiler and its flags."""
    settings: Mapping[str, int]
    """Macros that the headers of kernels read, with their values."""
    wide: bool
    """Whether table entries of row offsets have four bytes instead of two."""
    memories: Sequence[Memory]
    """The memories that definitions are placed in, by linker section."""
    alignment: int
    """Alignment of the tensors, in bytes."""
    includes: Sequence[str]
    """Headers to include: those of the kernels and of external generators."""
    instances: Sequence[str]
    """The macro calls that instantiate optional functions of the kernels' headers."""
    mixed: bool
    """Whether tensors of different element types use the same memory in turn."""
    trace: Definition
    macros: Sequence[str]
    """Names of macros that do not contain the model's name, and are undefined after it."""
    body: Sequence[Definition]


MERGED = ("MOTE_MAX_TAPS", "MOTE_WORDS_ALIGNED", "MOTE_SUMS_WRAP", "MOTE_FUSED")
"""The macros in `settings`, in order. For models that share kernels, the largest value of each is right for all: arrays
of row pointers are long enough, wrapping sums and aligned loads give the same results where they are not needed, and
fused products depend only on the target and affect only models with floats."""


def unit(
    plan: Plan, program: Program, options: ProjectOptions, pool: ConstantPool, *, wide: bool = False
) -> ModelSource:
    """The C of a model. Adds the constants that its steps need to `pool`. `wide`: entries of row offsets have four
    bytes even if two are enough."""
    name = options.name
    steps = printed(program, options, places(plan), pool, wide=wide)
    work, macros = _work(steps, plan, options)
    structs = list(_structs(steps))
    parameters_ = _parameters(structs, pool)
    learns = training.training(plan)
    keeping = states.keeping(plan, options, pool) if plan.graph.states else []
    sessions = training.functions(learns, options, pool) if learns else []
    pool.tables = steps.table_bytes
    settings = {"MOTE_MAX_TAPS": max(plan.taps, 1)}
    if ALIGNED in plan.how.features:
        settings["MOTE_WORDS_ALIGNED"] = 1
    if plan.graph.sums_wrap:
        settings["MOTE_SUMS_WRAP"] = 1
    if options.fused and computes_floats(plan.graph):
        settings["MOTE_FUSED"] = 1
    return ModelSource(
        name,
        requirements(plan, options, pool),
        settings,
        steps.wide,
        [*options.flashes, *plan.memories],
        plan.alignment,
        [*includes(program), *dict.fromkeys(artifact.header for artifact in program.artifacts)],
        _instances(program),
        program.mixed,
        _trace(options),
        macros,
        [
            *parameters_,
            *(definition for part in steps.all for definition in part.tables),
            *static_variables(plan, options),
            *keeping,
            *(weights.functions(plan, options) if weights.learned(plan) else []),
            *(opening.functions(options, pool) if options.cipher else []),
            *checks.check(name, _checked(plan, options, pool, steps, structs), pool.mark),
            *_accessors(plan, program, options),
            *(_zones(plan, options) if plan.zone else []),
            *work,
            *(_push(plan, program, options) if program.pushed else _run(program, options)),
            *(_run_core(program, options) if program.cores == 2 else []),
            *sessions,
        ],
    )


def model(own: ModelSource, options: ProjectOptions) -> list[Definition]:
    """The definitions in `<name>.c`."""
    name = options.name
    return [
        banner(options, f"{name}.c: the model. Call {name}_run; {name}.h is the manual."),
        BLANK,
        Include(f"{name}.h"),
        BLANK,
        *own.requirements,
        *_kernels([own]),
        Include(f"{name}_constants.h"),
        BLANK,
        own.trace,
        *([NEXT] if own.mixed else []),
        *own.body,
    ]


def models(
    units: Sequence[ModelSource],
    options: ProjectOptions,
    arena: Sequence[Definition],
    functions: Sequence[Definition],
) -> list[Definition]:
    """The definitions in `mote_models.c`: one translation unit, so that each kernel is linked once. `arena`: the shared
    one, if any; `functions`: those for all models, after those of each."""
    assert len({own.wide for own in units}) == 1, "places of rows have one width in all models of a file"
    file = options.name
    return [
        banner(options, f"{file}.c: the models. {file}.h is the manual."),
        BLANK,
        Include(f"{file}.h"),
        BLANK,
        *(check for own in units for check in own.requirements),
        *_kernels(units),
        *(Include(f"{own.name}_constants.h") for own in units),
        BLANK,
        *([NEXT] if any(own.mixed for own in units) else []),
        TRACED,
        *arena,
        *(part for own in units for part in _section(own)),
        *functions,
    ]


def _kernels(units: Sequence[ModelSource]) -> list[Definition]:
    """The macros, headers and macro instances of kernels, for all models of a file."""
    names = sorted({name for own in units for name in own.settings}, key=MERGED.index)
    return [
        *(Define(name, max(own.settings.get(name, 0) for own in units)) for name in names),
        *([Define("MOTE_PLACE", "uint32_t")] if any(own.wide for own in units) else []),
        *sections(memory for own in units for memory in own.memories),
        *([ALIGN] if any(own.alignment > ARENA_ALIGNMENT for own in units) else []),
        *map(Include, dict.fromkeys(file for own in units for file in own.includes)),
        *map(Text, dict.fromkeys(instance for own in units for instance in own.instances)),
    ]


def _section(own: ModelSource) -> list[Definition]:
    """The definitions of one of several models in a file."""
    hook = Text(f"""\
#if defined(MOTE_SELFTEST) && !defined(MOTE_TRACED)
void {own.name}_traced(uint32_t step, const void *data, size_t bytes);
#undef MOTE_TRACE
#define MOTE_TRACE {own.name}_traced
#endif
""")
    return [Comment(f"---- {own.name} ----"), BLANK, hook, *own.body, *(Text(f"#undef {name}") for name in own.macros)]


def includes(program: Program) -> list[str]:
    """The headers of the kernel library that a program includes."""
    turns = [i for p in program.all for i in p.turns]
    calls = [share for i in turns for share in i.shares]
    used = [file for i in calls if i.kernel is not None and i.external is None for file in i.kernel.files]
    kept = ["mote_state.h"] if program.states else []
    kept += ["mote_weights.h"] if program.learns else []
    rows = ["mote_rows.h"] if any(i.form in BY_ROWS for i in turns) else []
    rows += ["mote_rows_of.h"] if other_elements(program) else []
    barrier = ["mote_barrier.h"] if program.cores == 2 else []
    copied = ["mote_copy_constants.h"] if any(i.kernel is not None and i.kernel.loaded for i in turns) else []
    return list(dict.fromkeys(["mote_common.h", "mote_crc.h", *kept, *barrier, *rows, *copied, *used]))


def _instances(program: Program) -> list[str]:
    """The macro calls that instantiate optional functions of the kernels' headers."""
    rows = [f"MOTE_ROWS_OF({e.suffix}, {e.name})" for e in other_elements(program)]
    calls = (share for p in program.all for i in p.turns for share in i.shares)
    kernels = (i.kernel for i in calls if i.kernel is not None)
    return rows + list(dict.fromkeys(str(instance) for kernel in kernels for instance in kernel.instances))


class _Struct(NamedTuple):
    """The parameter struct of the kernel of an instruction."""

    hint: str
    """Prefix of the names of its constants."""
    name: str
    kernel: Packed
    fields: Sequence[Field]
    reads: int
    """Estimated bytes of its constants that are read in an inference."""


def _structs(steps: Printed) -> Iterator[_Struct]:
    """Parameter structs of all instructions whose kernels have parameters."""
    for part in steps.all:
        for number, i in enumerate(part.program.instructions):
            if i.kernel is None or i.external is not None:
                continue
            kernels = {"": i.kernel, **({SECOND: i.second.called} if i.second else {})}
            for suffix, kernel in kernels.items():
                if not suffix or kernel is not i.kernel:
                    name = f"{number}{suffix}"
                    yield _Struct(
                        f"{part.hint}{name}", f"{part.prefix}_step_{name}", kernel, kernel_fields(kernel), i.reads
                    )


def _parameters(structs: Iterable[_Struct], pool: ConstantPool) -> list[Definition]:
    """Definitions of the parameter structs."""
    initializers = ((s, pool.struct(s.hint, s.kernel.params, s.fields, s.reads)) for s in structs)
    return [Text(f"static const mote_{s.kernel.name}_t {s.name}{pool.mark} = {value};\n") for s, value in initializers]


def _checked(
    plan: Plan, options: ProjectOptions, pool: ConstantPool, steps: Printed, structs: Iterable[_Struct]
) -> list[Checked]:
    """All constants of the model that `NAME_check` covers."""
    arrays = [array_span(c.name, c.value) for c in pool.arrays]
    tables = [array_span(name, values) for part in steps.all for name, values in part.arrays.items()]
    return [
        Checked([*arrays, *tables], {}),
        *([weights.checked(plan, options)] if weights.learned(plan) else []),
        *(checks.struct(s.name, s.fields, s.kernel.params, pool.name) for s in structs),
    ]


def _zones(plan: Plan, options: ProjectOptions) -> list[Definition]:
    """Functions of a debug build that check the red zones around buffers."""
    name, zone = options.name, plan.zone
    zones, state = variable(options, "noted"), variable(options, "state")
    before, after = f"(const uint8_t *)buffer - {zone}, {zone}", f"(const uint8_t *)buffer + bytes, {zone}"
    slots = f"{zones}[slot]", f"{zones}[slot] + {zone}"
    arguments = f"({taken(options, 'const void *buffer', 'size_t bytes', 'size_t slot')})"
    changed = f"memcmp({slots[0]}, {before}) != 0 ||\n        memcmp({slots[1]}, {after}) != 0"
    own: list[Definition] = [] if options.instances else [noted(plan, options), BLANK]
    return [
        Comment(
            f"A debug build: the {zone} bytes before and after what a step writes are nobody's, or of rows that it must"
            " not\ntouch. What they hold is noted before the step and looked at after it."
        ),
        *own,
        CFunction(
            f"static void {name}_note{arguments}", [f"memcpy({slots[0]}, {before})", f"memcpy({slots[1]}, {after})"]
        ),
        CFunction(f"static void {name}_look{arguments}", [when(changed, assign(f"{state}.broken", 1))]),
    ]


NEXT = Text("""\
/* The arena holds elements of several types, one after another in the same place. A compiler may take accesses of
 * different types for independent; between two steps it must not move any. */
#if defined(__GNUC__) && !defined(__FRAMAC__)
#define MOTE_NEXT() __asm__ volatile("" : : : "memory")
#else
#define MOTE_NEXT() ((void)0) /* another compiler: switch type-based alias analysis off */
#endif
""")


TRACED = Text("""\
/* A debug or profiling build may define this hook; it is called after each step with its output. With MOTE_SELFTEST
 * defined it is the self-test's, one for each model. */
#if defined(MOTE_TRACE)
#define MOTE_TRACED
#else
#define MOTE_TRACE(step, data, bytes) ((void)0)
#endif
""")


def _trace(options: ProjectOptions) -> Definition:
    return Text(f"""\
/* A debug or profiling build may define this hook; it is called after each step with its output. With MOTE_SELFTEST
 * defined it is the self-test's. */
#if defined(MOTE_SELFTEST) && !defined(MOTE_TRACE)
void {options.name}_traced(uint32_t step, const void *data, size_t bytes);
#define MOTE_TRACE {options.name}_traced
#elif !defined(MOTE_TRACE)
#define MOTE_TRACE(step, data, bytes) ((void)0)
#endif
""")


def _accessors(plan: Plan, program: Program, options: ProjectOptions) -> list[Definition]:
    """The functions that initialize the model, and that return pointers to inputs and outputs."""
    name, position = options.name, f"{variable(options, 'state')}.position"
    body: list[Statement] = [when(f"{HANDLE} == NULL", "return MOTE_BAD_ARENA")] if options.instances else []
    body.append(assign(position, 0))
    body += _cancel(program, options)
    if options.caller_arena:
        for a in arenas(plan):
            odd = f"(uintptr_t){a.pointer} % {plan.alignment} != 0"
            bad = f"{a.pointer} == NULL || {a.size} < {a.macro(options)} || {odd}"
            body.append(when(bad, "return MOTE_BAD_ARENA"))
        body += [assign(a.storage(options), f"(uint8_t *){a.pointer}") for a in arenas(plan)]
    if options.check_flash:
        body.append(when(f"{name}_check() != MOTE_OK", "return MOTE_DAMAGED"))
    if options.cipher:
        body.append(assign(f"{variable(options, 'state')}.locked", 0))
        body += [f"const mote_status key = {name}_check_key()", when("key != MOTE_OK", "return key")]
    if plan.graph.states:
        body.append(f"{name}_forget({handed(options)})")
    begins = dict.fromkeys(artifact.init for artifact in program.artifacts if artifact.init)
    body += [when(f"{begin}() != 0", "return MOTE_NOT_READY") for begin in begins]
    if options.keep_status:
        body.append(assign(f"{variable(options, 'results')}.status", "MOTE_NOT_READY"))
    if options.samples:
        body.append(assign(f"{variable(options, 'state')}.filled", 0))
    body += [assign(position, 1), "return MOTE_OK"]
    accessors: list[Definition] = []
    copies: list[Statement] = []
    offsets = {port.suffix: at for port, at in zip(outputs(plan, options), result_offsets(plan), strict=True)}
    ports = zip((*inputs(plan, options), *outputs(plan, options)), (*program.inputs, *program.outputs), strict=True)
    for port, place in ((port, p.place) for port, p in ports if p.place is not None):
        address = f"{places(plan)[place.memory].storage(options)} + {place.at}"
        any_type = "mote_any_const_t" if options.instances and not port.is_input else "mote_any_t"
        if options.keep_outputs and not port.is_input:
            results = f"{variable(options, 'results')}.outputs.bytes + {offsets[port.suffix]}"
            copies.append(call("memcpy", results, address, port.tensor.nbytes))
            address = results
        where = f"return {position} == 0 ? NULL : ({any_type})({address})"
        accessors.append(Accessor(port.signature, where))
    result = _result(options, copies) if options.keep_outputs else []
    return [CFunction(f"mote_status {name}_init({parameters(plan, options)})", body), *accessors, *result]


def _cancel(program: Program, options: ProjectOptions) -> list[Statement]:
    """The C statements that cancel the work of an accelerator before another inference begins."""
    if not program.polls:
        return []
    state = variable(options, "state")
    cancels = dict.fromkeys(artifact.cancel for artifact in program.artifacts if artifact.cancel)
    running = [when(f"{state}.pending > 0", *(f"{cancel}({state}.external)" for cancel in cancels))] if cancels else []
    return [*running, assign(f"{state}.pending", 0)]


def _result(options: ProjectOptions, copies: Sequence[Statement]) -> list[Definition]:
    """The functions that copy outputs out of the arena at the end of a run, and that return its status."""
    status = f"{variable(options, 'results')}.status"
    kept = [assign(status, "status")] if options.keep_status else []
    ended = f"static mote_status {options.name}_ended({taken(options, 'mote_status status')})"
    told = Accessor(f"mote_status {options.name}_status({taken(options, const=True)})", f"return {status}")
    return [CFunction(ended, [*copies, *kept, "return status"]), *([told] if options.keep_status else [])]


def _work(steps: Printed, plan: Plan, options: ProjectOptions) -> tuple[list[Definition], list[str]]:
    """The function that runs one step of the schedule, after the macros for addresses that it uses; and the names of
    these macros."""
    name, program, memories = options.name, steps.program, places(plan).values()
    macros = [Define(f"{a.at}(offset)", f"((mote_any_t)({a.pointer} + (offset)))") for a in memories]
    if steps.offsets:
        entry = f"mote_place({name}_rows + (index))" if options.flash_apart else f"{name}_rows[index]"
        place = f"{ALIGNMENT} * (size_t){entry}"
        macros += [Define(f"{a.row}(index)", call(a.at, place)) for a in memories]
    pointers = [f"uint8_t *const {a.pointer} = {a.storage(options)}" for a in memories]
    unused = [f"(void){a.pointer}" for a in memories]
    body = [
        *pointers,
        *steps.variables,
        *unused,
        *([f"(void){WAIT}"] if program.polls else []),
        Switch(steps.turn, steps.cases),
    ]
    more = ["const void *row"] if program.pushed else [f"uint32_t {CORES.text}"] if program.split else []
    more += [f"int {WAIT}"] if program.polls else []
    work = CFunction(f"static void {name}_work({taken(options, 'uint32_t step', *more)})", body)
    functions = [*steps.functions]
    if options.samples:
        signature = f"static uint8_t *{name}_arriving({taken(options, const=True)})"
        functions.append(CFunction(signature, [*pointers, *unused, *steps.arriving]))
    return [*macros, BLANK, *functions, work], [macro.name.split("(")[0] for macro in macros]


def _begin(program: Program, options: ProjectOptions) -> list[Statement]:
    """The C statements before a step's work: counters are reset at the start of an inference."""
    state = variable(options, "state")
    return [when(f"{state}.position == 1", f"memset({state}.next, 0, sizeof {state}.next)")] if program.counters else []


def _end(program: Program, options: ProjectOptions, busy: str) -> list[Statement]:
    """The C statements after a step's work, which return its status: `busy` if more steps follow."""
    state = variable(options, "state")
    body: list[Statement] = []
    if program.polls:
        begin = [assign(f"{state}.pending", 0), assign(f"{state}.position", 1)]
        body.append(when(f"{state}.pending > 0", "return MOTE_BUSY"))
        body.append(when(f"{state}.pending < 0", *begin, f"return {_ended(options, 'MOTE_FAILED')}"))
    if program.zone:
        again = [assign(f"{state}.position", 1), assign(f"{state}.broken", 0)]
        body.append(when(f"{state}.broken", *again, f"return {_ended(options, 'MOTE_BROKEN')}"))
    if options.cipher:
        locked = f"return {_ended(options, 'MOTE_NOT_READY')}"
        body.append(when(f"{state}.locked", assign(f"{state}.position", 0), locked))
    body += [when(f"++{state}.position <= {len(program.schedule)}", f"return {busy}"), assign(f"{state}.position", 1)]
    return [*body, *_done(program, options)]


def _done(program: Program, options: ProjectOptions) -> list[Statement]:
    """The C statements at the end of an inference, which return its status."""
    if not program.warm_up:
        return [f"return {_ended(options, 'MOTE_OK')}"]
    missing = f"{variable(options, 'kept')}.missing"
    status = _ended(options, f"{missing} > 0 ? MOTE_WAITING : MOTE_OK")
    return [when(f"{missing} > 0", f"{missing}--"), f"return {status}"]


def _ended(options: ProjectOptions, status: str) -> str:
    """The C expression for the status at the end of a run; outputs that are kept outside of the arena are copied
    first."""
    return f"{options.name}_ended({handed(options, status)})" if options.keep_outputs else status


def _run(program: Program, options: ProjectOptions) -> list[Definition]:
    """The functions that run the model, at once or step by step."""
    name, position = options.name, f"{variable(options, 'state')}.position"
    step, run = (f"mote_status {name}_{what}({taken(options)})" for what in ("step", "run"))
    if not program.schedule:
        nothing = [states.ready(options), f"(void){name}_work", f"return {_ended(options, 'MOTE_OK')}"]
        return [CFunction(step, nothing), Accessor(run, f"return {name}_step({handed(options)})")]
    more = [str(BOTH)] if program.split else []
    more += [WAIT] if program.polls else []
    work = f"{name}_work({handed(options, f'(uint32_t){position} - 1', *more)})"
    piece = [states.ready(options), *_begin(program, options), work, *_end(program, options, "MOTE_BUSY")]
    next_piece = f"{name}_step({handed(options)})"
    steps: list[Definition] = [CFunction(step, piece)]
    if program.polls:
        next_piece = f"{name}_go({handed(options, '1')})"
        steps = [
            Comment("One step; an accelerator is waited for, or not."),
            CFunction(f"static mote_status {name}_go({taken(options, f'int {WAIT}')})", piece),
            Accessor(step, f"return {name}_go({handed(options, '0')})"),
        ]
    again = Compound("do", [f"status = {next_piece}"], " while (status == MOTE_BUSY);")
    return [*steps, CFunction(run, ["mote_status status", again, "return status"])]


def _run_core(program: Program, options: ProjectOptions) -> list[Definition]:
    """The function that two cores call to share an inference. They meet at barriers before and after each step that is
    split, the same ones in the same order."""
    name, state = options.name, variable(options, "state")
    wait = "MOTE_BARRIER(core)"
    number = "step" if program.straight else f"{name}_schedule[step]"
    waiting = ", 1" if program.polls else ""
    failed = when(f"core == 0 && {state}.pending < 0", assign(f"{state}.pending", 0), "return MOTE_FAILED")
    ready = when(f"{state}.position != 1", f"return {state}.position == 0 ? MOTE_NOT_READY : MOTE_BUSY")
    steps: list[Statement]
    if program.split:
        each: list[Statement] = [
            assign("const uint32_t before", "split"),
            assign("split", f"{name}_split[{number}]"),
            when("before + split != 0", wait),
            when("core == 0 || split != 0", f"{name}_work(step, core == 0 ? 1 : 2{waiting})"),
        ]
        steps = [assign("uint32_t split", 1), loop("uint32_t", "step", len(program.schedule), *each)]
    else:
        alone = loop("uint32_t", "step", len(program.schedule), f"{name}_work(step{waiting})")
        steps = [wait, *([when("core == 0", alone)] if program.schedule else [])]
    return [
        CFunction(
            f"mote_status {name}_run_core(uint32_t core)",
            [
                when("core == 0", ready, *_begin(program, options)),
                *steps,
                wait,
                *([failed] if program.polls else []),
                *([when("core != 0", "return MOTE_OK")] if program.warm_up else []),
                *_done(program, options),
            ],
        )
    ]


def _push(plan: Plan, program: Program, options: ProjectOptions) -> list[Definition]:
    """The functions of a model whose input is pushed row by row: each row is processed as far as possible when it
    comes."""
    name, (port,) = options.name, inputs(plan, options)
    position = f"{variable(options, 'state')}.position"
    arrival = next(n for n, i in enumerate(program.instructions) if i.form is Form.ARRIVAL)
    step = f"(uint32_t){position} - 1"
    scheduled = step if program.straight else element_of(options, f"{name}_schedule", step, program.schedule)
    waits = f"{name}_waits({handed(options)})"
    status = f"{waits} ? MOTE_WAITING : MOTE_BUSY"
    more = [WAIT] if program.polls else []
    work = f"{name}_work({handed(options, step, 'row', *more)})"

    def advance(row: str, wait: bool = False) -> str:
        return f"{name}_advance({handed(options, row, *(['1' if wait else '0'] if program.polls else []))})"

    pushing = _push_samples if options.samples else _push_rows
    return [
        Comment("Whether the next step is the arrival of a row."),
        Accessor(
            f"static int {name}_waits({taken(options, const=True)})",
            Template(f"return {{}} == {arrival}", (scheduled,)),
        ),
        Comment("One step; what comes after it."),
        CFunction(
            f"static mote_status {name}_advance({taken(options, 'const void *row', *(f'int {w}' for w in more))})",
            [*_begin(program, options), work, *_end(program, options, status)],
        ),
        CFunction(
            f"mote_status {name}_step({taken(options)})",
            [states.ready(options), f"return {waits} ? MOTE_WAITING : {advance('NULL')}"],
        ),
        *pushing(port, options, waits, status, advance),
    ]


def _push_rows(
    port: CPort, options: ProjectOptions, waits: str, status: str, advance: Callable[..., str]
) -> list[Definition]:
    """The functions that push one row, or several."""
    return [
        CFunction(
            f"mote_status {options.name}_push_row({taken(options, f'const {port.ctype} *row')})",
            [states.ready(options), f"return {waits} ? {advance('row')} : MOTE_BUSY"],
        ),
        CFunction(
            f"mote_status {options.name}_push({taken(options, f'const {port.ctype} *rows', 'size_t count')})",
            [
                states.ready(options),
                f"mote_status status = {status}",
                Compound(
                    f"for (;; count--, rows += {port.macro}_ROW_SIZE)",
                    [
                        Compound("while (status == MOTE_BUSY)", [f"status = {advance('NULL', True)}"]),
                        when("count == 0 || (status != MOTE_WAITING && status != MOTE_OK)", "return status"),
                        f"status = {advance('rows')}",
                    ],
                ),
            ],
        ),
    ]


def _push_samples(
    port: CPort, options: ProjectOptions, waits: str, status: str, advance: Callable[..., str]
) -> list[Definition]:
    """The functions that push samples of a sensor. Samples are copied to their place in a row; nothing is computed
    until the row is full."""
    name, filled = options.name, f"{variable(options, 'state')}.filled"
    row, counter = row_elements(port.tensor), filled_type(port.tensor)
    taken_in: list[Statement] = [
        f"memcpy({name}_arriving({handed(options)}) + {filled} * sizeof *samples, samples, count * sizeof *samples)",
        f"{filled} = ({counter})({filled} + count)",
        when(f"{filled} < {row}", "return MOTE_WAITING"),
        assign(filled, 0),
        f"return {advance('NULL')}",
    ]

    def take(samples: str, count: str) -> str:
        return f"{name}_take({handed(options, samples, count)})"

    return [
        CFunction(
            f"static mote_status {name}_take({taken(options, f'const {port.ctype} *samples', 'size_t count')})",
            taken_in,
        ),
        CFunction(
            f"mote_status {name}_push_row({taken(options, f'const {port.ctype} *row')})",
            [states.ready(options), f"return {waits} ? {take('row', f'{port.macro}_ROW_SIZE')} : MOTE_BUSY"],
        ),
        CFunction(
            f"mote_status {name}_push({taken(options, f'const {port.ctype} *rows', 'size_t count')})",
            [
                states.ready(options),
                "mote_status result = MOTE_WAITING",
                f"mote_status status = {status}",
                f"size_t left = count * {port.macro}_ROW_SIZE",
                Compound(
                    "for (;;)",
                    [
                        Compound("while (status == MOTE_BUSY)", [f"status = {advance('NULL', True)}"]),
                        when("status == MOTE_OK", "result = MOTE_OK"),
                        when("status != MOTE_OK && status != MOTE_WAITING", "return status"),
                        when("left == 0", "return result"),
                        f"const size_t room = {row} - (size_t){filled}",
                        "const size_t now = left < room ? left : room",
                        f"status = {take('rows', 'now')}",
                        "rows += now",
                        "left -= now",
                    ],
                ),
            ],
        ),
    ]
