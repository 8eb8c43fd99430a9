"""`mote.run` and `mote.profile`, for a compiled model, an image, or a model to be compiled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from mote.base.errors import MoteError, explaining
from mote.base.files import read_file
from mote.bench.evaluation import images
from mote.bench.evaluation.images import LoadedImage
from mote.bench.measure import profiler
from mote.bench.measure import run as runner
from mote.bench.measure.energy.capture import Capture
from mote.bench.measure.energy.meters import read_capture
from mote.bench.measure.energy.profiled import energy_of
from mote.bench.measure.profiler import Profile
from mote.bench.measure.run import RunResult
from mote.bench.verifying import subject
from mote.compiler.compiled import Compiled
from mote.compiler.given import CompileOptions
from mote.compiler.settings import Settings
from mote.frontends.data.inputs import Inputs, inferences
from mote.frontends.data.readers.arrays import load_arrays
from mote.hardware.toolchain.emulators import RTL


class _Data:
    """The `data` argument: arrays, or those of a file, read before a model is compiled."""

    def __init__(self, data: Inputs | str | Path | None) -> None:
        self.file = str(data) if isinstance(data, str | Path) else ""
        self.arrays: Any = load_arrays(self.file) if self.file else data

    def inputs(self, model: Compiled | LoadedImage) -> Inputs | None:
        """Inputs of each inference."""
        graph = model.plan.graph if isinstance(model, Compiled) else model.graph
        inputs: Inputs | None = inferences(graph, self.arrays, self.file) if self.file else self.arrays
        return inputs


@explaining()
def run(
    model: Any,
    data: Inputs | str | Path | None = None,
    *,
    settings: Settings | None = None,
    compiler: str | None = None,
    emulator: str | None = None,
    board: str | None = None,
    layers: bool = True,
    runtime: str | Path | None = None,
    example_inputs: Any = None,
    **options: Unpack[CompileOptions],
) -> RunResult:
    """Build, run and measure inferences on the target: exact instructions, RAM, flash, stack and outputs.

    `model` is a result of `mote.compile` or `mote.load_image`, or a model file, which is compiled with the options of
    `mote.compile`. `data` are arrays, or a .npy or .npz file, for one inference or several; without it the self-test's
    pattern. `layers=False` skips per-layer counts, which saves a build and a run. `compiler` is gcc or zig, `emulator`
    qemu, unicorn or rtl. `board` runs it instead of an emulator and counts its own cycles: a name in `boards.toml`, or
    an address such as serial:/dev/ttyACM0, tcp:HOST:PORT or qemu:cortex-m4; a model is compiled for its target unless
    `target` is given. `runtime` is the folder of the runtime that an image was packed for."""
    arrays = _Data(data)
    tools = {"compiler": compiler, "emulator": emulator, "board": board}
    given = subject(model, settings, runtime=runtime, example_inputs=example_inputs, **tools, **options)
    inputs = arrays.inputs(given)
    if not isinstance(given, Compiled):
        return images.run_image(given, inputs, **tools, layers=layers)
    return runner.run(given, inputs, **tools, layers=layers)


@explaining()
def profile(
    model: Any,
    data: Inputs | str | Path | None = None,
    *,
    settings: Settings | None = None,
    compiler: str | None = None,
    emulator: str | None = None,
    board: str | None = None,
    layers: bool = True,
    runtime: str | Path | None = None,
    example_inputs: Any = None,
    capture: Capture | str | Path | None = None,
    meter: str | None = None,
    volts: float | None = None,
    sample_rate: float | None = None,
    mark: str | None = None,
    subtract_idle: bool = False,
    inferences: int | None = None,
    **options: Unpack[CompileOptions],
) -> Profile:
    """Count the cycles of an inference by the core's timing model: per layer and per C function, with wait states, time
    and energy.

    `model`, `data` and the other arguments are those of `mote.run`; of several inputs the first is used. Cores
    available as RTL are simulated unless `emulator` says otherwise. A `board` measures the same inference: its cycles
    are reported next to the modelled ones, with the model's error per layer.

    `capture` is a meter's file (docs/measure/energy.md), whose marks give the measured energy of each layer: of a named
    `meter` if its content is ambiguous, with `volts` and `sample_rate` if the file does not state them. `mark` is the
    digital input with the marks, `subtract_idle` subtracts the power between inferences, and `inferences` is their
    number in a capture without marks, which holds nothing else."""
    arrays = _Data(data)
    if isinstance(capture, str | Path):
        read_file(capture, 0)
    given = subject(
        *(model, settings),
        runtime=runtime,
        example_inputs=example_inputs,
        compiler=compiler,
        emulator=emulator,
        board=board,
        **options,
    )
    inputs = arrays.inputs(given)
    target = given.settings.target
    tool = emulator or (RTL if target.rtl else None)
    if not isinstance(given, Compiled):
        if capture is not None:
            raise MoteError("needs a plan", where="option capture", remedy="give the model file instead of the image")
        return images.profile_image(given, inputs, compiler=compiler, emulator=tool, board=board, layers=layers)
    if isinstance(capture, str | Path):
        capture = read_capture(capture, meter, volts=volts or target.volts, sample_rate=sample_rate)
    tools = {"compiler": compiler, "emulator": tool, "board": board}
    result = profiler.profile(given, inputs, **tools, layers=layers or capture is not None)
    if capture is None:
        return result
    energy = energy_of(result, given.plan, capture, mark=mark, subtract_idle=subtract_idle, inferences=inferences)
    return replace(result, measured=energy)
