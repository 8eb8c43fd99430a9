"""Front ends of sound beside other libraries': instructions of a frame on an emulated Cortex-M4, and times on the host.

    PYTHONPATH=src:.:models python benchmarks/front_ends.py [--core cortex-m4] [--write]
        [--microfrontend FOLDER] [--cmsis-dsp FOLDER --cmsis-core FOLDER]

All run in the same harness on the same samples: tones that come and go over noise. FOLDER is the user's own copy of the
sources: that of the library `microfrontend` holds tensorflow/lite/experimental/microfrontend/lib and kissfft
(MICROFRONTEND_PATH), that of CMSIS-DSP holds Include and Source (CMSIS_DSP_PATH), that of CMSIS-Core the compiler's
headers (CMSIS_CORE_PATH). They are compiled with -O2 and with -O3, and the fewer instructions count; without a folder
its rows are left out. Where `pymicro-features` is installed, its time for a frame is compared with that of the
generated C. `--write` puts the tables into docs/improve/features.md.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from mote.bench.execute.host_library import HostModel
from mote.bench.measure.run import run
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile, compile_graph
from mote.compiler.settings import Settings
from mote.frontends.features.building import built
from mote.frontends.features.pipeline import preprocessing
from mote.frontends.features.sensor import Sensor
from mote.hardware import targets, toolchain
from mote.hardware.toolchain import Mode
from mote.ir.graph.tensor import Array

PAGE = Path(__file__).parents[1] / "docs" / "improve" / "features.md"
BEGIN, END = "<!-- front ends: benchmarks/front_ends.py -->\n", "<!-- end of front ends -->\n"
RATE, FRAME, HOP, FFT, FILTERS, COEFFICIENTS = 16000, 480, 160, 512, 40, 10
FRAMES = 20
LEVELS = ("balanced", "speed")
MICRO = "tensorflow/lite/experimental/microfrontend/lib"
MICRO_FILES = (
    *("fft", "filterbank", "frontend", "log_scale", "noise_reduction", "pcan_gain_control", "window"),
    *(f"{name}_util" for name in ("fft", "filterbank", "frontend", "log_scale", "noise_reduction", "window")),
    *("kiss_fft_int16", "log_lut", "pcan_gain_control_util"),
)
DSP_GROUPS = (
    *("BasicMathFunctions", "CommonTables", "ComplexMathFunctions", "FastMathFunctions", "MatrixFunctions"),
    *("StatisticsFunctions", "SupportFunctions", "TransformFunctions"),
)

DRIVER = """\
#include "harness.h"
{head}
static {sample} given[{inputs}];
static {result} made[{outputs}];
static uint32_t memory;
const uint32_t harness_input_count = 1, harness_output_count = 2, harness_step_count = 0;
void *harness_input(uint32_t i) {{ (void)i; return given; }}
size_t harness_input_bytes(uint32_t i) {{ (void)i; return sizeof given; }}
const void *harness_output(uint32_t i) {{ return i ? (const void *)&memory : made; }}
size_t harness_output_bytes(uint32_t i) {{ return i ? sizeof memory : sizeof made; }}
int harness_check(void) {{ return 0; }}
int harness_init(void) {{
{init}
}}
int harness_run(void) {{
{run}
}}
"""
NO_SYSTEM = """\
static int allocated;
void *_sbrk(int n) { static char heap[1 << 16]; allocated += n; return heap + allocated - n; }
int _write(int f, const char *p, int n) { (void)f; (void)p; return n; }
int _read(int f, char *p, int n) { (void)f; (void)p; (void)n; return 0; }
int _close(int f) { (void)f; return 0; }
int _fstat(int f, void *s) { (void)f; (void)s; return -1; }
int _isatty(int f) { (void)f; return 1; }
int _getpid(void) { return 1; }
int _kill(int p, int s) { (void)p; (void)s; return 0; }
void _exit(int c) { (void)c; for (;;) { } }
int _lseek(int f, int at, int from) { (void)f; (void)at; (void)from; return 0; }
"""
"""Newlib's memory for malloc, and its files, of which there are none."""


@dataclass(frozen=True)
class FrontEndCost:
    """The most instructions of a frame, the bytes of RAM beside a frame's samples, its result and the stack, and the
    results."""

    name: str
    instructions: int
    ram: int
    results: Array

    def row(self, ours: FrontEndCost) -> str:
        times = self.instructions / ours.instructions
        return f"| {self.name} | {self.instructions:,} | {times:.1f} | {self.ram:,} |"


@dataclass(frozen=True)
class OtherLibrary:
    """C of another library, and what calls it for each input."""

    name: str
    sources: Sequence[Path]
    includes: Sequence[Path]
    driver: str
    inputs: Sequence[Array]
    result: type
    flags: tuple[str, ...] = ()

    def measured(self, core: str) -> FrontEndCost:
        return min((self._measured(core, level) for level in LEVELS), key=lambda cost: cost.instructions)

    def _measured(self, core: str, optimize: str) -> FrontEndCost:
        target = targets.load(core)
        compiler, emulator = toolchain.find_compiler(target, "gcc"), toolchain.find_emulator(target)
        with TemporaryDirectory() as folder:
            workdir = Path(folder)
            (workdir / "driver.c").write_text(self.driver, encoding="utf-8")
            (workdir / "glue.c").write_text("typedef int nothing;\n", encoding="utf-8")
            elf = toolchain.build(
                workdir,
                [workdir / "driver.c", *self.sources],
                workdir / "glue.c",
                target,
                compiler,
                mode=Mode.MEASURE,
                optimize=optimize,
                workdir=workdir,
                extra_flags=("-w", *self.flags, *(f"-I{path}" for path in self.includes)),
            )
            raw = [[x.tobytes()] for x in self.inputs]
            done = toolchain.execute(elf, target, emulator, raw, workdir=workdir, mode=Mode.MEASURE)
        assert done.instructions is not None
        results = np.stack([np.frombuffer(result, self.result) for result, _ in done.outputs])
        (ram,) = np.frombuffer(done.outputs[0][1], np.uint32)
        return FrontEndCost(self.name, max(done.instructions[-FRAMES:]), int(ram), results[-FRAMES:])


def samples(count: int) -> Array:
    """Tones that come and go, over noise."""
    rng, t = np.random.default_rng(3), np.arange(count)
    tones = 13000 * np.sin(t**2 * 1e-3) * np.abs(np.sin(t / 2500)) ** 3
    return np.clip(tones + rng.normal(0, 200, count), -32768, 32767).astype(np.int16)


def compiled(steps: str, frames: int, hop: int, core: str) -> Compiled:
    """A front end alone, for so many frames an inference."""
    _, graph = built(preprocessing(steps).steps, Sensor(rate=RATE), FRAME + (frames - 1) * hop)
    assert graph is not None
    return compile_graph(graph, Settings(targets.load(core), name="front"))


def ours(name: str, steps: str, hop: int, core: str) -> FrontEndCost:
    """Frame by frame, with the states of a stream."""
    made = compiled(steps, 1, hop, core)
    graph = made.plan.graph
    shape = graph.tensors[graph.inputs[0]].shape
    sound = samples(FRAME + (FRAMES - 1) * hop)
    result = run(made, [[sound[i * hop : i * hop + FRAME].reshape(shape)] for i in range(FRAMES)], layers=False)
    outputs = [next(iter(inference.outputs.values())).reshape(-1) for inference in result.inferences]
    most = max(inference.instructions or 0 for inference in result.inferences)
    ends = sum(graph.tensors[t].nbytes for t in (*graph.inputs, *graph.outputs))
    return FrontEndCost(name, most, result.ram.arena + result.ram.static - ends, np.stack(outputs))


def microfrontend(folder: Path) -> OtherLibrary:
    """The library of the micro front end, a hop at a time, with the numbers of `pymicro-features`."""
    lib = folder / MICRO
    head = f"""\
#include "{MICRO}/frontend.h"
#include "{MICRO}/frontend_util.h"
static struct FrontendState state;
{NO_SYSTEM}"""
    init = f"""\
    struct FrontendConfig config;
    FrontendFillConfigWithDefaults(&config);
    config.window.size_ms = 30;
    config.filterbank.num_channels = {FILTERS};
    config.pcan_gain_control.enable_pcan = 1;
    const int failed = !FrontendPopulateState(&config, &state, {RATE});
    memory = (uint32_t)(sizeof state + allocated - sizeof(int16_t) * {FRAME});
    return failed;"""
    call = f"""\
    size_t used;
    struct FrontendOutput output = FrontendProcessSamples(&state, given, {HOP}, &used);
    for (size_t i = 0; i < output.size; i++) made[i] = output.values[i];
    return 0;"""
    driver = DRIVER.format(
        head=head, sample="int16_t", inputs=HOP, result="uint16_t", outputs=FILTERS, init=init, run=call
    )
    return OtherLibrary(
        "`microfrontend` (C++, Kiss FFT)",
        [lib / f"{name}.cc" for name in MICRO_FILES],
        [folder, folder / "kissfft"],
        driver,
        list(samples(FRAME + (FRAMES - 1) * HOP).reshape(-1, HOP)),
        np.uint16,
        ("-fno-exceptions",),
    )


@dataclass(frozen=True)
class DspType:
    """A number type of CMSIS-DSP: its suffix, the C types of samples and of working memory, and how it is written."""

    suffix: str
    ctype: str
    numpy: type
    working: str
    scale: float

    def array(self, name: str, values: Array) -> str:
        given = np.clip(np.round(values * self.scale), -32768, 32767).astype(int) if self.scale != 1 else values
        return f"static const {self.ctype} {name}[] = {{{', '.join(f'{x:.9g}' for x in given.reshape(-1))}}};"


DSP_TYPES = (DspType("q15", "q15_t", np.int16, "q31_t", 32768), DspType("f32", "float32_t", np.float32, "float32_t", 1))


def cmsis_dsp(folder: Path, core: Path, kind: DspType) -> OtherLibrary:
    """The MFCC of a frame of MLPerf Tiny's keyword spotter: 512 points, 40 mel filters from 20 to 4000 Hz."""
    window = np.zeros(FFT)
    window[:FRAME] = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FRAME) / FRAME)
    mel = 1127 * np.log1p(np.arange(FFT // 2 + 1) * RATE / FFT / 700)
    edges = np.linspace(*1127 * np.log1p(np.array([20, 4000]) / 700), FILTERS + 2)
    triangles = zip(edges[:-2], edges[1:-1], edges[2:], strict=True)
    bank = [np.clip(np.minimum((mel - a) / (b - a), (c - mel) / (c - b)), 0, 1) for a, b, c in triangles]
    places = [np.flatnonzero(line) if line.any() else np.array([1]) for line in bank]
    dct = np.cos(np.pi / FILTERS * np.outer(np.arange(COEFFICIENTS), np.arange(FILTERS) + 0.5)) * np.sqrt(2 / FILTERS)
    tables = [
        kind.array("window", window),
        kind.array("dct", dct),
        kind.array("weights", np.concatenate([line[p] for line, p in zip(bank, places, strict=True)])),
        *(
            f"static const uint32_t {name}[] = {{{', '.join(map(str, numbers))}}};"
            for name, numbers in (("first", [p[0] for p in places]), ("width", [p.size for p in places]))
        ),
    ]
    head = "\n".join(
        [
            '#include "arm_math.h"',
            *tables,
            f"static arm_mfcc_instance_{kind.suffix} state;",
            f"static {kind.working} working[{FFT} + 2];",
            f"static {kind.ctype} frame[{FFT}];",
            NO_SYSTEM,
        ]
    )
    init = f"""\
    memory = sizeof state + sizeof working + sizeof frame;
    return arm_mfcc_init_{FFT}_{kind.suffix}(&state, {FILTERS}, {COEFFICIENTS}, dct, first, width, weights, window);"""
    call = f"""\
    for (int i = 0; i < {FRAME}; i++) frame[i] = given[i];
    for (int i = {FRAME}; i < {FFT}; i++) frame[i] = 0;
    {"return " if kind.suffix == "q15" else ""}arm_mfcc_{kind.suffix}(&state, frame, made, working);
    return 0;"""
    driver = DRIVER.format(
        head=head, sample=kind.ctype, inputs=FRAME, result=kind.ctype, outputs=COEFFICIENTS, init=init, run=call
    )
    sound = samples(FRAME + (FRAMES - 1) * 2 * HOP)
    frames = [sound[i * 2 * HOP : i * 2 * HOP + FRAME] for i in range(FRAMES)]
    return OtherLibrary(
        f"CMSIS-DSP, `arm_mfcc_{kind.suffix}`",
        [folder / "Source" / group / f"{group}.c" for group in DSP_GROUPS],
        [folder / "Include", folder / "PrivateInclude", core],
        driver,
        [(x / (32768 if kind.scale == 1 else 1)).astype(kind.numpy) for x in frames],
        kind.numpy,
        ("-DARM_MATH_LOOPUNROLL",),
    )


HEAD = """\
| front end | instructions | times Mote's | bytes of RAM |
| --- | --: | --: | --: |"""


def on_core(core: str, micro: Path | None, dsp: Path | None, cmsis: Path | None) -> list[str]:
    """The table of instructions."""
    lines = [HEAD]
    mine = ours("`micro-frontend`", "micro-frontend", HOP, core)
    lines.append(mine.row(mine))
    if micro is not None:
        theirs = microfrontend(micro).measured(core)
        np.testing.assert_array_equal(theirs.results, mine.results)
        lines.append(theirs.row(mine))
    if dsp is not None and cmsis is not None:
        mine = ours("`mfcc`", "mfcc", 2 * HOP, core)
        lines += [mine.row(mine), *(cmsis_dsp(dsp, cmsis, kind).measured(core).row(mine) for kind in DSP_TYPES)]
    return lines


WAKE_HEAD = """\
| wake word, from samples to events | instructions of 10 ms | of them the front end | bytes of RAM | of flash |
| --- | --: | --: | --: | --: |"""
STEPS, EVENTS = "micro-frontend,scale=10/256", "moving-average=5,detect(0,0.9,release=0.5,refractory=30)"


def wake_words(core: str) -> list[str]:
    """Models of `pymicro-wakeword` behind the front end, with a detector: each inference takes three hops."""
    package = find_spec("pymicro_wakeword")
    if package is None or package.origin is None:
        return []
    lines = [WAKE_HEAD]
    for path in sorted((Path(package.origin).parent / "models").glob("*.tflite")):
        made = compile(path, target=core, preprocess=STEPS, postprocess=EVENTS)
        (given,) = (made.plan.graph.tensors[t] for t in made.plan.graph.inputs)
        parts = samples(FRAMES * given.size).reshape(FRAMES, *given.shape)
        result = run(made, [[part] for part in parts])
        hops = given.size // HOP
        front = sum(layer.instructions or 0 for layer in result.layers if layer.op.startswith("Micro"))
        most = max(inference.instructions or 0 for inference in result.inferences)
        sizes = f"{result.ram.total:,} | {result.flash.total:,}"
        lines.append(f"| `{path.stem}` | {most // hops:,} | {front // hops:,} | {sizes} |")
    return lines


def on_host(count: int = 2000) -> list[str]:
    """Times of the wheel and of the generated C for the same samples, in turns."""
    if find_spec("pymicro_features") is None:
        return []
    from pymicro_features import MicroFrontend

    sound = samples(FRAME + (count - 1) * HOP)
    model = HostModel(compiled("micro-frontend", count, HOP, "host"))
    graph = model.graph
    given = {graph.inputs[0]: sound.reshape(graph.tensors[graph.inputs[0]].shape)}
    hops = [hop.tobytes() for hop in sound.reshape(-1, HOP)]
    model.run([given])
    library = MicroFrontend()
    works = (lambda: model.run([given]), lambda: [library.process_samples(hop) for hop in hops])
    mine, wheel = (min(times) for times in zip(*([_seconds(work) for work in works] for _ in range(5)), strict=True))
    times, each = wheel / mine, 1e6 / count
    return [
        f"On this host a frame takes {mine * each:.1f} us, with `pymicro-features` {wheel * each:.1f} us ({times:.1f})."
    ]


def _seconds(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began


def folder(given: str | None, variable: str) -> Path | None:
    path = given or os.environ.get(variable)
    return Path(path).resolve() if path else None


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--core", default="cortex-m4")
    p.add_argument("--microfrontend", metavar="FOLDER")
    p.add_argument("--cmsis-dsp", metavar="FOLDER")
    p.add_argument("--cmsis-core", metavar="FOLDER")
    p.add_argument("--write", action="store_true")
    o = p.parse_args()
    lines = on_core(
        o.core,
        folder(o.microfrontend, "MICROFRONTEND_PATH"),
        folder(o.cmsis_dsp, "CMSIS_DSP_PATH"),
        folder(o.cmsis_core, "CMSIS_CORE_PATH"),
    )
    lines += ["", *wake_words(o.core)]
    print("\n".join([*lines, "", *on_host()]))
    if o.write:
        text = PAGE.read_text(encoding="utf-8")
        there = re.escape(BEGIN) + ".*?" + re.escape(END)
        made = "\n".join([BEGIN, *lines, "", END])
        PAGE.write_text(re.sub(there, lambda _: made, text, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
