"""Several models in one firmware: code and RAM in one project against each model compiled for itself, in bytes.

    PYTHONPATH=src:models python benchmarks/several.py [--write]

Code is that of the linked firmware without the harness, with the library functions that it calls. Apart, every model
has its own copy of the kernels and its own arena; RAM is arenas, counters and states, and in one project the input and
the outputs that lie outside of a common arena. Instructions are those of an inference of every model, with shared
kernels against its own ones, which the C compiler can specialize for it. The wake words are those of PyPI's
pymicro-wakeword. `--write` puts the table into docs/deploy/several-models.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import mlperf_tiny
from generated_table import Page
from mote.base.files import temporary_folder
from mote.bench.execute.stimuli import stimuli
from mote.bench.measure.runner import bench
from mote.compiler.firmware import Firmware, firmware
from mote.compiler.several import CompiledModels, Running, check_several_code, compile_several
from mote.hardware.toolchain import Mode

ROOT = Path(__file__).parents[1]
PAGE = Page(ROOT / "docs" / "deploy" / "several-models.md", "<!-- several.py -->", "<!-- end of several.py -->")
WAKE_WORDS = ("alexa", "hey_jarvis", "hey_mycroft", "okay_nabu")
CORES = ("cortex-m4", "cortex-m0plus")
POLICIES = ("balanced", "size")
HEAD = (
    "| models | core | `--optimize` | code apart | code in one project | saved | instructions | RAM apart |"
    " RAM in one project |\n"
    "|---|---|---|--:|--:|--:|--:|--:|--:|"
)


def main() -> None:
    with temporary_folder() as folder:
        PAGE.run(table(folder), __doc__)


def table(folder: Path) -> str:
    bundled = [ROOT / "models" / f"{name}.tflite" for name in ("digits", "keywords")]
    tiny = [folder / f"{name}.tflite" for name in ("kws", "ic")]
    for path in tiny:
        path.write_bytes(mlperf_tiny.build(path.stem))
    cases = [
        ("digits, keywords; taking turns", bundled, Running.TURNS),
        ("MLPerf Tiny KWS, IC; taking turns", tiny, Running.TURNS),
    ]
    package = find_spec("pymicro_wakeword")
    if package is not None and package.origin is not None:
        words = [Path(package.origin).parent / "models" / f"{name}.tflite" for name in WAKE_WORDS]
        cases.append(("four wake words; together", words, Running.TOGETHER))
    rows = [row(*case, core, policy) for case in cases for core in CORES for policy in POLICIES]
    return "\n".join([HEAD, *rows])


def row(name: str, models: Sequence[Path], running: Running, core: str, policy: str) -> str:
    several = compile_several(models, target=core, optimize=policy, running=running)
    code = check_several_code(several)
    apart, together = code.apart.nbytes, code.together.nbytes
    alone = sum(m.plan.arena + m.plan.static for m in several.models)
    ram = several.arena + several.static + several.edges
    sizes = [f"{apart:,}", f"{together:,}", f"{1 - together / apart:.0%}"]
    cells = [name, core, policy, *sizes, f"{slower(several):+.1%}", f"{alone:,}", f"{ram:,}"]
    return f"| {' | '.join(cells)} |"


def slower(several: CompiledModels) -> float:
    """The share of instructions that models in one project execute more than alone."""
    project = several.project
    own, shared = 0, 0
    for m in several.models:
        values = stimuli(m.plan.graph, 1)[0]
        case = [values[t].tobytes() for t in m.plan.graph.inputs]
        joint = replace(firmware(m), files=project.files, sources=project.sources)
        own += instructions(firmware(m), case)
        shared += instructions(joint, case)
    return shared / own - 1


def instructions(model: Firmware, case: list[bytes]) -> int:
    with temporary_folder() as folder:
        return bench(model, folder).execute(Mode.MEASURE, [case]).instructions[0]


if __name__ == "__main__":
    main()
