"""Emits the command stream of a plan with stripes: each operation is repeated for its stripes, with other addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mote.compiler.offload.ethos_u.striped.program import Access, RowOperation, StreamProgram
from mote.compiler.offload.ethos_u.striped.schedule import Stripe, StripePlan
from mote.hardware.npu.commands import Command
from mote.hardware.npu.stream import CommandStream

_OPERANDS = ("IFM_", "IFM2_", "OFM_", "ACTIVATION", "ACC_", "AB_", "BLOCKDEP", "PARALLEL_MODE")
_WINDOWS = ("KERNEL_",)
_WEIGHTS = ("WEIGHT", "SCALE")
_ELEMENTWISE = ("OPA_", "OPB_")


def emitted(program: StreamProgram, layout: StripePlan, stripes: Sequence[Stripe]) -> CommandStream:
    """The command stream of some stripes. Every operation waits for the previous one to end (BLOCKDEP 0), as it may
    read its results."""
    stream = program.stream
    commands: list[Command] = []
    now: dict[str, int] = {}
    tables: tuple[Mapping[str, Command], ...] = ()

    def put(registers: Mapping[str, Command]) -> None:
        for name, command in registers.items():
            if now.get(name) != command.operand:
                commands.append(command)
                now[name] = command.operand

    for stripe in stripes:
        operation = program.operations[stripe.operation]
        if operation.tables and operation.tables != tables:
            commands.append(stream.command("KERNEL_WAIT"))
            for table in operation.tables:
                put(table)
                commands.append(stream.command("DMA_START"))
            commands.append(stream.command("DMA_WAIT"))
        tables = operation.tables
        put(_registers(program, layout, stripe, operation))
        commands.append(operation.command)
    return stream.with_commands([*commands, *(c for c in stream.commands if c.name in ("STOP", "IRQ"))])


def _registers(
    program: StreamProgram, layout: StripePlan, stripe: Stripe, operation: RowOperation
) -> dict[str, Command]:
    """The registers that an operation reads, with the values for a stripe."""
    elementwise = operation.command.name == "ELEMENTWISE"
    weighted = operation.command.name in ("CONV", "DEPTHWISE")
    names = _OPERANDS + (_ELEMENTWISE if elementwise else _WINDOWS) + (_WEIGHTS if weighted else ())
    kept = {n: c for n, c in operation.registers.items() if n.startswith(names) and (elementwise or n[:4] != "IFM2")}
    kept = {n: c for n, c in kept.items() if not (elementwise and n.startswith("IFM_PAD"))}
    changed: dict[str, int] = {"OFM_HEIGHT_M1": stripe.end - stripe.first - 1, "BLOCKDEP": 0}
    changed |= _tiles(program, layout, operation.write, stripe.first, stripe.end)
    for read in operation.reads:
        if read.window is None:
            changed |= _tiles(program, layout, read, 0, read.rows)
            continue
        low, high, above, below = read.window.rows_of(stripe.first, stripe.end)
        if low >= high:
            kept |= operation.begins
            continue
        changed |= _tiles(program, layout, read, low, high)
        if not elementwise:
            changed |= {"IFM_PAD_TOP": above, "IFM_PAD_BOTTOM": below}
    return kept | {name: kept[name].with_value(value) for name, value in changed.items() if name in kept}


def _tiles(program: StreamProgram, layout: StripePlan, access: Access, first: int, end: int) -> dict[str, int]:
    """The address registers of rows: one tile, or two if the ring buffer wraps around."""
    tensor = program.tensors[access.tensor]
    start = layout.offsets[access.tensor] + access.offset if tensor.placed else access.offset
    top, rest = end - first, 0
    if tensor.placed and tensor.pitch:
        lines = layout.lines[access.tensor]
        top = min(top, lines - first % lines)
        rest = end - first - top
        base = start + first % lines * tensor.pitch
    else:
        base = start + first * access.pitch
    what = access.what
    return {
        f"{what}_REGION": tensor.base,
        f"{what}_BASE0": base,
        f"{what}_BASE1": 0,
        f"{what}_BASE2": start if rest else 0,
        f"{what}_BASE3": 0,
        f"{what}_HEIGHT0_M1": top - 1,
        f"{what}_HEIGHT1_M1": top - 1,
    }
