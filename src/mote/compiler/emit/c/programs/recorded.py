"""`example/main.c` of a project with a recording, which it plays to the model like a sensor."""

from __future__ import annotations

from mote.base.errors import MoteError
from mote.compiler.emit.c.c import BLANK, CFunction, Compound, Statement, Text, assign, printed, when
from mote.compiler.emit.c.model.handle import called
from mote.compiler.emit.c.model.ports import CPort, inputs
from mote.compiler.emit.c.model.variables import row_elements
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.emit.c.programs.example import Calls, Example, compiled_calls, printing, results
from mote.compiler.emit.c.values import CTYPES
from mote.compiler.plan.plan import Plan
from mote.ir.graph.types import DType

RECORDING = "mote_recording"
"""Base name of a recording's C files and of its definitions."""


def recorded_example(plan: Plan, options: ProjectOptions, dtype: DType, frame: int) -> Example:
    """The example of a model that takes a recording. `dtype`: type of the recorded values; `frame`: values per moment
    (the channels of sound) or per line."""
    port = _played(plan, options, dtype, frame)
    calls = compiled_calls(plan, options)
    storage = [*map(Text, calls.storage), *([BLANK] if calls.storage else [])]
    values: list[Statement] = [f"const {port.ctype} *values = (const {port.ctype} *)data"]
    if options.samples:
        feed = _samples(plan, options, port, calls)
    else:
        size = row_elements(port.tensor) if plan.pushed else port.tensor.size
        row = f"static {port.ctype} given[{size}];\n" if plan.pushed else ""
        storage += [Text(f"static size_t filled;\n{row}"), BLANK]
        feed = _pieces(plan, options, port, calls, size)
    failed = f'print("{calls.name}: init failed\\n")'
    body: list[Statement] = [
        "mote_memory_source_t file",
        "const void *data",
        "int32_t count",
        "long run = 0",
        when(f"{calls.init} != MOTE_OK", failed, "return 1"),
        f"mote_memory_source(&file, &{RECORDING})",
        when("mote_source_start(&file.source) != MOTE_SOURCE_OK", "return 1"),
        Compound("while ((count = mote_source_read(&file.source, &data)) >= 0)", [*values, *feed]),
        "(void)mote_source_stop(&file.source)",
        "return count == MOTE_SOURCE_ENDED ? 0 : 1",
    ]
    main = CFunction("static int example(void)", body)
    headers = (f"{options.name}.h", f"{RECORDING}.h")
    return Example(headers, printed([*storage, *printing([(plan, options)]), main]), (), given="a recording")


def _played(plan: Plan, options: ProjectOptions, dtype: DType, frame: int) -> CPort:
    """The input that the recording fits; an error if there is none."""
    ports = inputs(plan, options)
    own = CTYPES[dtype].name
    reason = ""
    if len(ports) > 1:
        reason = f"has {len(ports)} inputs, and a recording is one"
    elif ports[0].tensor.dtype is not dtype:
        reason = f"takes {ports[0].ctype}, and the recording has {own}"
    elif plan.pushed and row_elements(ports[0].tensor) % frame:
        reason = f"takes rows of {row_elements(ports[0].tensor)} values, and the recording has {frame} at a time"
    elif ports[0].tensor.size % frame:
        reason = f"takes {ports[0].tensor.size} values, and the recording has {frame} at a time"
    if reason:
        audio = "compile the front end with it (--preprocess audio,...), " if dtype is DType.INT16 else ""
        raise MoteError(
            f"the model {reason}: example/main.c cannot play it",
            where="option source",
            remedy=f"{audio}omit the kind of --output, or write an example/main.c of your own and compile again",
        )
    return ports[0]


def _samples(plan: Plan, options: ProjectOptions, port: CPort, calls: Calls) -> list[Statement]:
    """The statements that push a block of samples, in pieces that complete at most one inference each."""
    row, most = f"{port.macro}_ROW_SIZE", options.samples
    return [
        f"size_t left = (size_t)count / {row}",
        Compound(
            "while (left > 0)",
            [
                f"const size_t piece = left < {most} ? left : {most}",
                f"const mote_status status = {called(options, 'push', 'values', 'piece')}",
                f"values += piece * {row}",
                "left -= piece",
                *_shown(plan, options, calls),
            ],
        ),
    ]


def _pieces(plan: Plan, options: ProjectOptions, port: CPort, calls: Calls, size: int) -> list[Statement]:
    """The statements that copy a block of values to a row or to the input, and run the model when it is full."""
    to = "given" if plan.pushed else calls.data(port)
    run = called(options, "push", "given", "1") if plan.pushed else calls.run
    return [
        Compound(
            "for (; count > 0; count--)",
            [
                f"{to}[filled++] = *values++",
                when(f"filled < {size}", "continue"),
                assign("filled", 0),
                f"const mote_status status = {run}",
                *_shown(plan, options, calls),
            ],
        )
    ]


def _shown(plan: Plan, options: ProjectOptions, calls: Calls) -> list[Statement]:
    """The statements that print the outputs of a run, if it has completed."""
    return [
        when("status == MOTE_WAITING", "continue"),
        when("status != MOTE_OK", f'print("{calls.name}: run failed\\n")', "return 1"),
        *results(plan, options, calls),
        "run++",
    ]
