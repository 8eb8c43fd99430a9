"""`mote profile`: cycles, time and energy of each layer, or of each function of any other program."""

from __future__ import annotations

import argparse

import mote.hardware.targets as targets
from mote.base.errors import MoteError
from mote.base.text import deviation, short_names
from mote.bench.measure.energy.meters import METERS
from mote.bench.measure.profiler import BoardMeasurement, Profile, percent, profile_elf
from mote.bench.measuring import profile
from mote.bench.pictures.text import bar
from mote.ui.cli.common import bold, duration, named, print_json, progress, show, table
from mote.ui.cli.images import add_runtime
from mote.ui.cli.options.compiling import add_compile_options, settings
from mote.ui.cli.options.drawing import add_picture, write_picture
from mote.ui.cli.options.tools import TOOLS, add_board, add_tools, show_interruptions
from mote.ui.cli.table import alias, drop, shorten

FIT = (
    alias("kernel", 16),
    drop(""),
    drop("op"),
    drop("per MAC"),
    drop("MACs"),
    shorten("layer", 12),
    drop("instructions"),
    drop("peak"),
    drop("kernel"),
)
"""Columns that a narrow terminal does without, the least important first."""
SHOWN = 30
"""How many functions are printed."""


def add(p: argparse.ArgumentParser) -> None:
    add_compile_options(p, count="?")
    add_tools(p)
    add_board(p, "measure on this board beside the model")
    add_runtime(p)
    p.add_argument(
        "--data",
        metavar="FILE",
        help=".npy or .npz with the inputs, of which the first are taken (default: the self-test's pattern)",
    )
    add_picture(p, "the cycles of each layer")
    p.add_argument("--functions", action="store_true", help="also print the table of functions")
    add_capture(p)
    p.add_argument("--elf", metavar="FILE", help="profile this bare-metal program instead of a model")
    p.add_argument("--entry", metavar="SYMBOL", help="the function of the program whose calls are profiled")


def add_capture(p: argparse.ArgumentParser) -> None:
    """Add the options about a capture of a meter."""
    group = p.add_argument_group("measured energy")
    group.add_argument(
        "--capture", metavar="FILE", help="capture of a meter: time, current, mark (docs/measure/energy.md)"
    )
    group.add_argument("--meter", choices=METERS, help="kind of meter (default: by the content of the file)")
    group.add_argument(
        "--volts", type=float, metavar="V", help="supply voltage, where the meter measures none (default: the target's)"
    )
    group.add_argument("--sample-rate", type=float, metavar="HZ", help="samples a second, where the file does not say")
    group.add_argument("--mark", metavar="PIN", help="digital input with the marks (default: the one that changes)")
    group.add_argument("--subtract-idle", action="store_true", help="take off the mean power between inferences")
    group.add_argument(
        "--inferences", type=int, metavar="N", help="the capture has no marks: it holds N inferences and nothing else"
    )


def run(arguments: argparse.Namespace) -> int:
    result = _program(arguments) if arguments.elf or arguments.entry else _model(arguments)
    write_picture(arguments.picture, result.svg)
    print_json(result.json()) if arguments.json else print_text(result, arguments.functions)
    if arguments.model and not arguments.json and (line := settings(arguments).time_line(result.cycles)):
        show(line.replace(": ", ":       ", 1))
    return 0


def _program(arguments: argparse.Namespace) -> Profile:
    if arguments.model:
        raise MoteError("give either a model or --elf", where="mote profile", remedy="profile them one after the other")
    if not (arguments.elf and arguments.entry):
        raise MoteError(
            "--elf and --entry belong together",
            where="mote profile",
            remedy="--elf names the program, --entry the function",
        )
    if arguments.data:
        raise MoteError("--data is for models", where="mote profile", remedy="build the inputs into the program")
    if arguments.capture:
        raise MoteError("--capture is for models", where="mote profile", remedy="give a model instead of --elf")
    with progress("running"):
        target = targets.load(arguments.target, trusted=arguments.trust_target)
        return profile_elf(arguments.elf, arguments.entry, target, emulator=arguments.emulator)


def _model(arguments: argparse.Namespace) -> Profile:
    if not arguments.model:
        raise MoteError(
            "nothing to profile",
            where="mote profile",
            remedy="give a model, or a program with --elf FILE --entry SYMBOL",
        )
    with progress("building and running"):
        return profile(
            arguments.model,
            arguments.data,
            settings=settings(arguments),
            **named(arguments, *TOOLS, "runtime", "capture", "meter", "volts", "sample_rate", "mark"),
            **named(arguments, "subtract_idle", "inferences"),
        )


def print_text(result: Profile, functions: bool) -> None:
    tools = ", ".join(t for t in (result.emulator, result.compiler) if t)
    what = f"{result.model}: {result.entry}" if not result.layers else result.model
    show(bold(f"{what} on {result.target}") + f" ({tools})")
    if result.layers:
        print(_layers(result))
    if functions or not result.layers:
        print(_functions(result))
    if not result.layers:
        show(f"calls:        {result.calls:,}")
    if result.instructions is not None:
        show(f"instructions: {result.instructions:,}{_per_mac(result.instructions, result)}")
    about = "about " if result.estimate else ""
    macs = "1 MAC" if result.peak_macs == 1 else f"{result.peak_macs} MACs"
    peak = f", {100 * result.peak:.0f}% of the peak of {macs} a cycle" if result.peak else ""
    show(f"cycles:       {about}{result.cycles:,}{_per_mac(result.cycles, result)}{peak}")
    _print_waits(result)
    if result.saved is not None:
        show(f"code in RAM:  {result.ram_code:,} bytes, {_saved(result.saved, result.cycles + result.saved)}")
    if result.seconds is not None and result.clock_hz:
        show(f"time:         {about}{duration(result.seconds)} at {result.clock_hz / 1e6:g} MHz")
    _print_energy(result)
    label = ", an estimate" if result.estimate else ""
    show(f"timing:       {result.core}{label} ({result.timing})")
    if result.modelled is not None:
        error = deviation(result.modelled / result.cycles - 1, 2)
        show(f"cycle model:  {result.modelled:,} cycles for the same instructions ({error})")
    show(f"memory:       {result.memory}")
    if result.board is not None:
        _print_measured(result.board)


def _print_measured(board: BoardMeasurement) -> None:
    """Lines about what a board counted, and how far the model is from it."""
    took = "" if board.seconds is None else f", {duration(board.seconds)}"
    show(f"measured:     {board.total:,} {board.facts.unit}{took}; {board.runs} runs within {100 * board.spread:.2g}%")
    show(f"              ({board.facts})")
    show_interruptions(board.facts.interruptions)
    if board.error is not None and board.mean_error is not None and board.geometric_error is not None:
        layers = f"layers {100 * board.mean_error:.1f}% in the mean, {100 * board.geometric_error:.1f}% geometrically"
        show(f"model error:  {deviation(board.error, 1)} in total, {layers}")
    elif board.error is not None:
        show(f"model error:  {deviation(board.error, 1)}")


def _print_energy(result: Profile) -> None:
    """Lines about the estimated energy and what it is based on, and about the measured one."""
    estimate, measured = result.energy, result.measured
    if estimate is None:
        show(f"energy:       not known: {result.reason}")
    elif estimate.error is None:
        how = f"an estimate: {estimate.ua_per_mhz:g} µA/MHz at {estimate.volts:g} V"
        show(f"energy:       about {_microjoules(estimate.microjoules)} µJ, {how}")
    else:
        how = f"by the target's energy model, whose error is {estimate.error:.1%}"
        show(f"energy:       about {_microjoules(estimate.microjoules)} µJ, {how}")
    if estimate is not None:
        show(f"              ({estimate.source})")
    if measured is None:
        return
    off = ""
    if estimate is not None:
        off = f"; the estimate is {deviation(estimate.microjoules / measured.microjoules - 1)}"
    sure = "" if measured.interval is None else f" ± {_microjoules(measured.interval)}"
    show(f"measured:     {_microjoules(measured.microjoules)}{sure} µJ in {duration(measured.seconds)}{off}")
    many = "1 inference" if measured.inferences == 1 else f"the mean of {measured.inferences:,} inferences"
    ranged = "" if measured.interval is None else " ± its 95% confidence interval"
    show(f"              ({many}{ranged}; {measured.capture}, {measured.meter}, {measured.sample_hz / 1e3:.4g} kHz)")
    if measured.left_out:
        show(f"              {measured.left_out} more left out: marks or samples of theirs are missing")
    if measured.idle_milliwatts is not None:
        what = "subtracted" if measured.idle_subtracted else "not subtracted"
        show(f"              between inferences {measured.idle_milliwatts:.3g} mW, which is {what}")
    if measured.together:
        together = ", ".join("+".join(each.layers) for each in measured.together)
        show(f"              too short to be told apart at that rate: layers {together}")


def _microjoules(value: float) -> str:
    return f"{float(f'{value:.3g}'):,g}"


def _saved(saved: int, whole: int) -> str:
    """A line about the speed-up of code in RAM over flash; code with many jumps may become slower."""
    what = "saves" if saved >= 0 else "costs"
    return f"{what} {abs(saved):,} of {whole:,} cycles ({100 * abs(saved) / whole:.0f}%)"


def _waits(result: Profile) -> bool:
    return result.waits.code + result.waits.constants > 0


def _print_waits(result: Profile) -> None:
    """A line about the cycles spent on wait states, where there are any."""
    w = result.waits
    if not _waits(result):
        return
    guess = "" if result.loads_known else "at least "
    share = 100 * (w.code + w.constants) / result.cycles
    show(f"waits:        {w.code:,} cycles for code, {guess}{w.constants:,} for constants: {share:.0f}% of all")
    show(f"              ({result.core_cycles:,} cycles if memory answered at once)")
    if not result.loads_known:
        show(
            "              what is read is not known without a C compiler for this computer and a QEMU that takes"
            " plug-ins: each constant counts once"
        )
    show(f"flash:        {guess}{w.fetched:,} bytes read, in lines; {w.loaded:,} bytes of constants were loaded")


def _layers(result: Profile) -> str:
    slow = _waits(result)
    waits = ("code waits", "constant waits") if slow else ()
    joules = _joules(result)
    energies = ("estimated µJ", "measured µJ") if joules else ()
    modelled = result.board is not None and result.instructions is not None
    board = (f"measured {result.board.facts.unit}", "error") if result.board is not None and modelled else ()
    head = ("#", "layer", "op", "kernel", "MACs", "instructions", "per MAC", "cycles", "per MAC", "peak", "share")
    widest = max((x.share for x in result.layers), default=0.0)
    rows = [
        (
            x.number,
            x.short,
            x.op,
            x.kernel,
            x.macs,
            x.instructions,
            f"{x.instructions / x.macs:.2f}" if x.macs and x.instructions is not None else "",
            x.cycles,
            f"{x.cycles / x.macs:.2f}" if x.macs else "",
            f"{100 * x.peak:.0f}%" if x.peak else "",
            f"{100 * x.share:.1f}%",
            *((x.waits.code, x.waits.constants) if slow else ()),
            *((x.measured, percent(x.error) or "") if board else ()),
            *joules.get(x.number, ("", "") if joules else ()),
            bar(x.share, widest),
        )
        for x in result.layers
    ]
    return table((*head, *waits, *board, *energies, ""), rows, left=4, fit=FIT)


def _joules(result: Profile) -> dict[str, tuple[str, str]]:
    """The estimated and the measured energy of each layer by its number, where some was measured. Layers that were
    measured together have theirs in the row of the first."""
    if result.measured is None:
        return {}
    cells: dict[str, tuple[str, str]] = {}
    for each in result.measured.layers:
        parts = [layer.microjoules for layer in result.layers if layer.number in each.layers]
        estimate = "" if None in parts else _microjoules(sum(part or 0.0 for part in parts))
        cells |= dict.fromkeys(each.layers, ("", f"with {each.layers[0]}"))
        cells[each.layers[0]] = (estimate, _microjoules(each.microjoules))
    return cells


def _functions(result: Profile) -> str:
    head = ("function", "calls", "instructions", "cycles", "share", "")
    shown = result.functions[:SHOWN]
    widest = max((f.share for f in result.functions), default=0.0)
    rows = [
        (name, f.calls, f.instructions, f.cycles, f"{100 * f.share:.1f}%", bar(f.share, widest))
        for f, name in zip(shown, short_names([f.name for f in shown], 48), strict=True)
    ]
    more = len(result.functions) - SHOWN
    return table(head, rows, fit=(drop(""), shorten("function", 20))) + (f"\nand {more} more" if more > 0 else "")


def _per_mac(count: int, result: Profile) -> str:
    return f", {count / result.macs:.2f} per MAC" if result.macs else ""
