"""The variables of a model: arenas, position in the schedule, counters, persistent state."""

from __future__ import annotations

from mote.compiler.emit.c.c import BLANK, Comment, Compound, Definition, Noted, Statement
from mote.compiler.emit.c.model import states
from mote.compiler.emit.c.model.arenas import arenas, definition
from mote.compiler.emit.c.model.handle import declared, instance_type, static
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.kernels.contract import aligned
from mote.compiler.plan.plan import ARENA_ALIGNMENT, Plan
from mote.ir.graph import Tensor
from mote.ir.graph.rows import row_count


def static_variables(plan: Plan, options: ProjectOptions) -> list[Definition]:
    """Definitions of static variables; none if the model has instances."""
    groups = [] if options.instances else _groups(plan, options)
    return [part for group in groups for part in (*group, BLANK)]


def _groups(plan: Plan, options: ProjectOptions) -> list[list[Statement]]:
    """Groups of declarations, with comments: static variables, or members of an instance."""
    position = f"uint{8 * plan.position_bytes}_t position"
    fields: list[Statement] = [Noted(position, "in the schedule, from 1 on; 0 before init")]
    if plan.counters:
        counters = f"uint{8 * plan.counter_bytes}_t next[{plan.counters}]"
        fields.append(Noted(counters, "of each operator that runs by rows"))
    if options.samples:
        counter = filled_type(plan.graph.tensors[plan.graph.inputs[0]])
        fields.append(Noted(f"{counter} filled", "elements of the next row that have come"))
    if plan.zone:
        fields.append(Noted("uint8_t broken", "a red zone was written to"))
    if options.cipher:
        fields.append(Noted("uint8_t locked", "constants could not be decrypted"))
    if plan.polls:
        fields.append(Noted("int32_t pending", "positive: an accelerator works on the step; negative: it failed"))
    if plan.external_state:
        fields.append(Noted(f"uint64_t external[{plan.external_state // 8}]", "of its driver"))
    progress: list[Statement] = [
        Comment("How far the inference has got."),
        Compound(static(options, "struct"), fields, f" {declared(options, 'state')};"),
    ]
    kept = states.kept(plan, options) if plan.graph.states else []
    results = _results(plan, options) if options.keep_outputs else []
    return [group for group in (_storage(plan, options), progress, kept, results) if group]


def _results(plan: Plan, options: ProjectOptions) -> list[Statement]:
    """The declaration of the copies of outputs outside of the arena, and of the status of the last run."""
    outputs: list[Statement] = ["uint64_t alignment", f"uint8_t bytes[{max(result_bytes(plan), 1)}]"]
    fields: list[Statement] = [Compound("union", outputs, " outputs;")]
    if options.keep_status:
        fields.append("mote_status status")
    return [
        Comment("What the last run gave, outside of the arena."),
        Compound(static(options, "struct"), fields, f" {declared(options, 'results')};"),
    ]


def row_elements(tensor: Tensor) -> int:
    """Elements of a row of an input."""
    return tensor.size // row_count(tensor.shape)


def filled_type(tensor: Tensor) -> str:
    """The C type that can count the elements of a row."""
    return "uint16_t" if row_elements(tensor) < 1 << 16 else "uint32_t"


def result_bytes(plan: Plan) -> int:
    """Bytes of the copies of outputs outside of the arena."""
    return sum(aligned(plan.graph.tensors[t].nbytes, ARENA_ALIGNMENT) for t in plan.graph.outputs)


def result_offsets(plan: Plan) -> list[int]:
    """The offset of each output in the copies outside of the arena."""
    sizes = [aligned(plan.graph.tensors[t].nbytes, ARENA_ALIGNMENT) for t in plan.graph.outputs]
    return [sum(sizes[:i]) for i in range(len(sizes))]


def noted(plan: Plan, options: ProjectOptions) -> str:
    """The declaration of the variable that saves red zones before a step."""
    most = max((len(op.outputs) for op, _ in plan.works if not op.bodies and not op.updates), default=1)
    return f"{static(options, 'uint8_t')} {declared(options, 'noted')}[{2 + most}][2 * {plan.zone}]"


def instance(plan: Plan, options: ProjectOptions) -> list[Definition]:
    """The struct type of an instance of the model."""
    members = [part for group in _groups(plan, options) for part in group]
    if plan.zone:
        members += [Comment("Red zones before a step."), noted(plan, options)]
    name = instance_type(options)
    return [
        Comment(
            "An instance of the model: all memory that it writes to. Make as many as there are streams or threads, in\n"
            "memory that is zero before init (static variables are); they share the constants in flash, and nothing\n"
            "else. The members are the model's own business."
        ),
        Compound(f"typedef struct {name}", members, f" {name};"),
        BLANK,
    ]


def _storage(plan: Plan, options: ProjectOptions) -> list[Statement]:
    """The declarations of the arenas, or of pointers to those of the caller."""
    if options.shared_arena:
        return []
    if options.caller_arena:
        why = f"what the caller gave to {options.name}_init"
        pointers = (f"{static(options, 'uint8_t')} *{declared(options, a.pointer)}" for a in arenas(plan))
        return [Noted(pointer, why) for pointer in pointers]
    union = static(options, "union")
    return [
        Comment("Every tensor lives in here; the places were planned at compile time."),
        *(
            definition(
                union,
                declared(options, f"memory{a.suffix}"),
                a.nbytes,
                None if options.instances else a.memory,
                plan.alignment,
            )
            for a in arenas(plan)
        ),
    ]
