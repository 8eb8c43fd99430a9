"""C glue between a generated model and the measuring harness (not part of the user's project)."""

from __future__ import annotations

from collections.abc import Sequence

from mote.compiler.emit.c.c import Accessor, CFunction, Include, Statement, Text, printed, when
from mote.compiler.emit.c.model.handle import called
from mote.compiler.emit.c.model.opening import AES, hook
from mote.compiler.emit.c.model.ports import caller_arenas, init_call, inputs, outputs
from mote.compiler.emit.c.model.training import learning_function, training
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.emit.c.values import CTYPES
from mote.compiler.plan.plan import Plan


def decryption(models: Sequence[ProjectOptions], *, with_key: bool = True) -> str:
    """The decryption hooks of models with encrypted constants, in software, with the keys in the text: for files that
    are deleted after the build. `with_key=False`: a function sets the key instead. Empty if no model has encrypted
    constants."""
    keys = [(options, options.cipher.key) for options in models if options.cipher is not None]
    if not keys:
        return ""
    setting = """\
static uint8_t key[32];
static size_t key_bytes;
void mote_set_key(const uint8_t *bytes, size_t count);
void mote_set_key(const uint8_t *bytes, size_t count) {
    memcpy(key, bytes, count);
    key_bytes = count;
}
"""
    headers = "".join(f'#include "{options.name}.h"\n' for options, _ in keys)
    hooks = "\n".join(
        hook(options, f"static const uint8_t key[] = {{{', '.join(map(str, key))}}};", "key, sizeof key")
        if with_key
        else hook(options, "", "key, key_bytes")
        for options, key in keys
    )
    return f'#include "{AES}"\n{headers}\n{"" if with_key else setting}\n{hooks}'


def text(plan: Plan, options: ProjectOptions) -> str:
    name = options.name
    reads, writes = inputs(plan, options), outputs(plan, options)
    frames = [f"static {p.ctype} frame_{i}[{p.macro}_SIZE]" for i, p in enumerate(reads) if plan.pushed]
    whole = [f"frame_{i}" if plan.pushed else p.call for i, p in enumerate(reads)]
    run = called(options, "push", "frame_0", f"{reads[0].macro}_ROWS") if plan.pushed else called(options, "run")
    waits = "status == MOTE_WAITING ? 0 : " if plan.graph.warm_up else ""
    return printed(
        [
            Include("harness.h"),
            Include(f"{name}.h"),
            *map(Text, caller_arenas(plan, options)),
            f"const uint32_t harness_input_count = {len(reads)}",
            f"const uint32_t harness_output_count = {len(writes)}",
            f"const uint32_t harness_step_count = {len(plan.works)}",
            *frames,
            *_samples([(plan, options)]),
            _chosen("void *harness_input(uint32_t i)", whole),
            _chosen("size_t harness_input_bytes(uint32_t i)", [f"{p.macro}_BYTES" for p in reads]),
            _chosen("const void *harness_output(uint32_t i)", [p.call for p in writes]),
            _chosen("size_t harness_output_bytes(uint32_t i)", [f"{p.macro}_BYTES" for p in writes]),
            CFunction(
                "int harness_init(void)", [*_learning([(plan, options)]), f"return (int){init_call(plan, options)}"]
            ),
            Accessor("int harness_check(void)", f"return (int){name}_check()"),
            CFunction("int harness_run(void)", [f"const mote_status status = {run}", f"return {waits}(int)status"]),
        ]
    )


def _samples(models: Sequence[tuple[Plan, ProjectOptions]]) -> list[str]:
    """Variables for the samples of models that learn, and a flag that is never set: the functions that learn are
    linked, so that their size and stack can be measured."""
    arrays = []
    for plan, options in models:
        if own := training(plan):
            right = own.label if own.target is None else own.target
            tensor = plan.graph.tensors[right.before]
            arrays.append(f"static {CTYPES[tensor.dtype].name} {options.name}_right[{tensor.size}]")
    return ["static volatile int learning", *arrays] if arrays else []


def learning_functions(models: Sequence[tuple[Plan, ProjectOptions]]) -> tuple[str, ...]:
    """The names of the C functions that learn a sample, of all models that learn."""
    return tuple(learning_function(own, options) for plan, options in models if (own := training(plan)))


def _learning(models: Sequence[tuple[Plan, ProjectOptions]]) -> list[Statement]:
    """The statements that would let each model learn a sample."""
    calls = []
    for plan, options in models:
        if own := training(plan):
            one = own.target is None and own.labels == 1
            function = learning_function(own, options).removeprefix(f"{options.name}_")
            calls.append(called(options, function, f"{options.name}_right{'[0]' if one else ''}"))
    return [when("learning != 0", f"return {' + '.join(f'(int){call}' for call in calls)}")] if calls else []


def several_text(models: Sequence[tuple[Plan, ProjectOptions]]) -> str:
    """The glue of several models in one project, which links everything that a firmware may call, but cannot run
    them."""
    names = [options.name for _, options in models]
    calls = " + ".join(f"(int){name}_{function}()" for name in names for function in ("check", "step"))
    runs = [f"{o.name}_push(0, 1)" if plan.pushed else f"{o.name}_run()" for plan, o in models]
    held = [
        f"(void){port.function}()"
        for plan, o in models
        for port in (*([] if plan.pushed else inputs(plan, o)), *outputs(plan, o))
    ]
    return printed(
        [
            Include("harness.h"),
            *(Include(f"{name}.h") for name in names),
            "const uint32_t harness_input_count = 0",
            "const uint32_t harness_output_count = 0",
            "const uint32_t harness_step_count = 0",
            *_samples(models),
            _chosen("void *harness_input(uint32_t i)", []),
            _chosen("size_t harness_input_bytes(uint32_t i)", []),
            _chosen("const void *harness_output(uint32_t i)", []),
            _chosen("size_t harness_output_bytes(uint32_t i)", []),
            CFunction(
                "int harness_init(void)",
                [*_learning(models), f"return {' + '.join(f'(int){name}_init()' for name in names)}"],
            ),
            Accessor("int harness_check(void)", f"return {calls}"),
            CFunction("int harness_run(void)", [*held, f"return {' + '.join(f'(int){run}' for run in runs)}"]),
        ]
    )


def _chosen(signature: str, values: list[str]) -> CFunction:
    """A C function that returns the i-th value."""
    return CFunction(signature, [*(when(f"i == {i}", f"return {value}") for i, value in enumerate(values)), "return 0"])
