"""`<name>.c`: constants, one struct of parameters for each step, and the run function."""

from __future__ import annotations

import numpy as np

from mote.codegen.arenas import SECTION, arenas, definition, places
from mote.codegen.c import (
    BLANK,
    Accessor,
    Comment,
    Compound,
    Define,
    Definition,
    Function,
    Include,
    Noted,
    Statement,
    Switch,
    Text,
    assign,
    call,
    guarded,
    when,
)
from mote.codegen.executor import Executor
from mote.codegen.options import ProjectOptions, banner
from mote.codegen.ports import inputs, outputs, parameters
from mote.codegen.values import Constants
from mote.plan.memories import constant_reads
from mote.plan.plan import ALIGNMENT, Plan
from mote.plan.rows import Arrival


def constants(options: ProjectOptions, found: Constants) -> list[Definition]:
    """`<name>_constants.h`."""
    head = banner(options, f"{options.name}_constants.h: weights and tables, kept in flash.")
    guard = f"{options.name.upper()}_CONSTANTS_H"
    return [head, *guarded(guard, Include("mote_common.h"), BLANK, *found.definitions)]


def model(plan: Plan, options: ProjectOptions, found: Constants) -> list[Definition]:
    """The C file. Fills `found` with the constants that the steps need."""
    name = options.name
    executor = Executor(plan, found, name)
    work = _work(plan, options, executor)
    found.tables = executor.table_bytes
    settings = [Define("MOTE_MAX_TAPS", max(plan.taps, 1))]
    if plan.graph.sums_wrap:
        settings.append(Define("MOTE_SUMS_WRAP", 1))
    if executor.row_table and max(executor.row_table) >= 1 << 16:
        settings.append(Define("MOTE_PLACE", "uint32_t"))
    return [
        banner(options, f"{name}.c: the model. Call {name}_run; {name}.h is the manual."),
        BLANK,
        Include(f"{name}.h"),
        BLANK,
        *settings,
        *([SECTION] if options.flashes or plan.memories else []),
        *map(Include, includes(plan)),
        *map(Text, _instances(plan)),
        *([Include("mote_arena.h")] if options.shared_arena else []),
        Include(f"{name}_constants.h"),
        BLANK,
        TRACE,
        *_parameters(plan, options, found),
        *executor.tables,
        *_memory(plan, options),
        *(_keeping(plan, options, found) if plan.graph.states else []),
        *_accessors(plan, options),
        *(_zones(plan, options) if plan.zone else []),
        *work,
        *(_push(plan, options) if plan.pushed else _run(plan, options)),
    ]


def includes(plan: Plan) -> list[str]:
    """The kernels' files."""
    used = [s.kernel.file for s in plan.steps if not isinstance(plan.op(s), Arrival)]
    return list(dict.fromkeys(["mote_common.h", *([] if plan.layered else ["mote_rows.h"]), *used]))


def _instances(plan: Plan) -> list[str]:
    """What the kernels' files define only where it is asked for."""
    return list(dict.fromkeys(str(instance) for s in plan.steps for instance in s.kernel.instances))


def _parameters(plan: Plan, options: ProjectOptions, found: Constants) -> list[Definition]:
    """A struct for each operator's kernel."""
    structs: list[Definition] = []
    for i, (op, steps) in enumerate(plan.works):
        if not isinstance(op, Arrival):
            kernel = steps[0].kernel
            value = found.struct(str(i), kernel.params, constant_reads(plan.graph, op))
            structs.append(Text(f"static const mote_{kernel.name}_t {options.name}_step_{i} = {value};\n"))
    return structs


def _zones(plan: Plan, options: ProjectOptions) -> list[Definition]:
    """Functions of a debug build that guard what lies around a buffer."""
    name, zone = options.name, plan.zone
    before, after = f"(const uint8_t *)buffer - {zone}, {zone}", f"(const uint8_t *)buffer + bytes, {zone}"
    noted = f"{name}_noted[slot]", f"{name}_noted[slot] + {zone}"
    arguments = "(const void *buffer, size_t bytes, size_t slot)"
    changed = f"memcmp({noted[0]}, {before}) != 0 ||\n        memcmp({noted[1]}, {after}) != 0"
    return [
        Comment(
            f"A debug build: the {zone} bytes before and after what a step writes are nobody's, or of rows that it must"
            " not\ntouch. What they hold is noted before the step and looked at after it."
        ),
        f"static uint8_t {name}_noted[3][2 * {zone}]",
        BLANK,
        Function(
            f"static void {name}_note{arguments}", [f"memcpy({noted[0]}, {before})", f"memcpy({noted[1]}, {after})"]
        ),
        Function(f"static void {name}_look{arguments}", [when(changed, assign(f"{name}_state.broken", 1))]),
    ]


TRACE = Text("""\
/* A debug or profiling build may define this hook; it is called after each step with its output. */
#ifndef MOTE_TRACE
#define MOTE_TRACE(step, data, bytes) ((void)0)
#endif
""")


def _memory(plan: Plan, options: ProjectOptions) -> list[Definition]:
    """The variables of the model."""
    fields: list[Statement] = [Noted(f"uint{8 * plan.position_bytes}_t position", "in the schedule")]
    if plan.counters:
        counters = f"uint{8 * plan.counter_bytes}_t next[{plan.counters}]"
        fields.append(Noted(counters, "of each operator that runs by rows"))
    if plan.zone:
        fields.append(Noted("uint8_t broken", "a red zone was written to"))
    return [
        *_storage(plan, options),
        Comment("How far the inference has got."),
        Compound("static struct", fields, f" {options.name}_state;"),
        BLANK,
        *(_kept(plan, options) if plan.graph.states else []),
    ]


def _storage(plan: Plan, options: ProjectOptions) -> list[Definition]:
    """The arenas, or what points to them."""
    name = options.name
    if options.shared_arena:
        return []
    if options.caller_arena:
        why = f"what the caller gave to {name}_init"
        return [*(Noted(f"static uint8_t *{a.storage(options)}", why) for a in arenas(plan)), BLANK]
    return [
        Comment("Every tensor lives in here; the places were planned at compile time."),
        *(definition("static union", f"{name}_memory{a.suffix}", a.nbytes, a.memory) for a in arenas(plan)),
        BLANK,
    ]


def _kept(plan: Plan, options: ProjectOptions) -> list[Definition]:
    """What lives from one inference to the next."""
    states = ["uint32_t alignment", f"uint8_t bytes[{plan.state_bytes}]"]
    fields: list[Statement] = [Compound("union", states, " states;")]
    if plan.rings:
        fields.append(Noted(f"uint16_t oldest[{plan.rings}]", "row of each ring buffer"))
    if plan.graph.warm_up:
        fields.append(Noted("uint16_t missing", "runs until the outputs mean something"))
    what = Comment("What is remembered from one inference to the next.")
    return [what, Compound("static struct", fields, f" {options.name}_kept;"), BLANK]


def _keeping(plan: Plan, options: ProjectOptions, found: Constants) -> list[Definition]:
    """The functions that set, save and restore what is remembered."""
    kept, position = f"{options.name}_kept", f"{options.name}_state.position"
    body: list[Statement] = []
    for i, state in enumerate(plan.graph.states):
        raw = np.frombuffer(np.ascontiguousarray(state.initial).tobytes(), np.uint8)
        target = f"{kept}.states.bytes + {plan.place[state.before].offset}"
        if np.all(raw == raw[0]):
            body.append(call("memset", target, int(raw[0]), raw.size))
        else:
            body.append(call("memcpy", target, found.array(f"initial_{i}", state.initial, 0), raw.size))
    if plan.rings:
        body.append(f"memset({kept}.oldest, 0, sizeof {kept}.oldest)")
    if plan.graph.warm_up:
        body.append(assign(f"{kept}.missing", plan.graph.warm_up))
    return [
        Function(f"void {options.name}_reset(void)", [*body, assign(position, 0)]),
        Accessor(f"void {options.name}_save(void *state)", f"memcpy(state, &{kept}, sizeof {kept})"),
        Accessor(f"void {options.name}_restore(const void *state)", f"memcpy(&{kept}, state, sizeof {kept})"),
    ]


def _accessors(plan: Plan, options: ProjectOptions) -> list[Definition]:
    """The functions that begin, and that tell where inputs and outputs are."""
    name = options.name
    body: list[Statement] = []
    if options.caller_arena:
        for a in arenas(plan):
            bad = f"{a.pointer} == NULL || {a.size} < {a.macro(options)} || (uintptr_t){a.pointer} % 8 != 0"
            body.append(when(bad, "return MOTE_BAD_ARENA"))
        body += [assign(a.storage(options), a.pointer) for a in arenas(plan)]
    begin = f"{name}_reset()" if plan.graph.states else f"{name}_state.position = 0"
    init = Function(f"mote_status {name}_init({parameters(plan, options)})", [*body, begin, "return MOTE_OK"])
    accessors: list[Definition] = []
    for port in (*([] if plan.pushed else inputs(plan, options)), *outputs(plan, options)):
        buffer = plan.place[port.tensor.id]
        address = f"{places(plan)[buffer.memory].storage(options)} + {buffer.offset}"
        accessors.append(Accessor(f"{port.ctype} *{port.function}(void)", f"return (void *)({address})"))
    return [init, *accessors]


def _work(plan: Plan, options: ProjectOptions, executor: Executor) -> list[Definition]:
    """One step of the schedule, and the macros for addresses in it."""
    name, cases = options.name, executor.cases
    macros = [Define(f"{a.at}(offset)", f"((void *)({a.pointer} + (offset)))") for a in executor.arenas]
    if executor.row_table:
        place = f"{ALIGNMENT} * (size_t){name}_rows[index]"
        macros += [Define(f"{a.row}(index)", call(a.at, place)) for a in executor.arenas]
    body = [
        *(f"uint8_t *const {a.pointer} = {a.storage(options)}" for a in executor.arenas),
        *executor.variables,
        *(f"(void){a.pointer}" for a in executor.arenas),
        Switch("step" if plan.straight else f"{name}_schedule[step]", cases),
    ]
    row = ", const void *row" if plan.pushed else ""
    return [*macros, BLANK, Function(f"static void {name}_work(uint32_t step{row})", body)]


def _ready(plan: Plan, options: ProjectOptions) -> list[Statement]:
    """Nothing is ready without an arena."""
    if not options.caller_arena:
        return []
    return [when(f"{arenas(plan)[0].storage(options)} == NULL", "return MOTE_NOT_READY")]


def _begin(plan: Plan, options: ProjectOptions) -> list[Statement]:
    """What a step does before its work: counters start at zero."""
    state = f"{options.name}_state"
    zero = when(f"{state}.position == 0", f"memset({state}.next, 0, sizeof {state}.next)")
    return [*_ready(plan, options), *([zero] if plan.counters else [])]


def _end(plan: Plan, options: ProjectOptions, busy: str) -> list[Statement]:
    """What a step does after its work, and returns; `busy` where there is more to do."""
    state, missing = f"{options.name}_state", f"{options.name}_kept.missing"
    body: list[Statement] = []
    if plan.zone:
        body.append(when(f"{state}.broken", f"{state}.position = {state}.broken = 0", "return MOTE_BROKEN"))
    body += [when(f"++{state}.position < {len(plan.steps)}", f"return {busy}"), f"{state}.position = 0"]
    if not plan.graph.warm_up:
        return [*body, "return MOTE_OK"]
    return [*body, when(f"{missing} > 0", f"{missing}--"), f"return {missing} > 0 ? MOTE_WAITING : MOTE_OK"]


def _run(plan: Plan, options: ProjectOptions) -> list[Definition]:
    """The functions that run the model, at once or step by step."""
    name = options.name
    step, run = f"mote_status {name}_step(void)", f"mote_status {name}_run(void)"
    if not plan.steps:
        nothing = [*_begin(plan, options), f"(void){name}_work", "return MOTE_OK"]
        return [Function(step, nothing), Accessor(run, f"return {name}_step()")]
    work = f"{name}_work({name}_state.position)"
    again = Compound("do", [f"status = {name}_step()"], " while (status == MOTE_BUSY);")
    return [
        Function(step, [*_begin(plan, options), work, *_end(plan, options, "MOTE_BUSY")]),
        Function(run, ["mote_status status", again, "return status"]),
    ]


def _push(plan: Plan, options: ProjectOptions) -> list[Definition]:
    """The input comes row by row: what can be done with a row is done when it comes."""
    name, ctype = options.name, inputs(plan, options)[0].ctype
    arrival = next(i for i, (op, _) in enumerate(plan.works) if isinstance(op, Arrival))
    waits, status = f"{name}_waits()", f"{name}_waits() ? MOTE_WAITING : MOTE_BUSY"
    work = f"{name}_work({name}_state.position, row)"
    return [
        Comment("Whether the next step is the arrival of a row."),
        Accessor(f"static int {name}_waits(void)", f"return {name}_schedule[{name}_state.position] == {arrival}"),
        Comment("One step; what comes after it."),
        Function(
            f"static mote_status {name}_advance(const void *row)",
            [*_begin(plan, options), work, *_end(plan, options, status)],
        ),
        Function(
            f"mote_status {name}_step(void)",
            [*_ready(plan, options), f"return {waits} ? MOTE_WAITING : {name}_advance(NULL)"],
        ),
        Accessor(
            f"mote_status {name}_push_row(const {ctype} *row)", f"return {waits} ? {name}_advance(row) : MOTE_BUSY"
        ),
        Function(
            f"mote_status {name}_push(const {ctype} *rows, size_t count)",
            [
                f"mote_status status = {status}",
                Compound(
                    f"for (;; count--, rows += {name.upper()}_INPUT_ROW_SIZE)",
                    [
                        Compound("while (status == MOTE_BUSY)", [f"status = {name}_advance(NULL)"]),
                        when("count == 0 || (status != MOTE_WAITING && status != MOTE_OK)", "return status"),
                        f"status = {name}_advance(rows)",
                    ],
                ),
            ],
        ),
    ]
