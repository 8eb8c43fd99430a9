"""Damaged images against the runtime with real kernels: python -m tests.compiler.emit.image.damaged --minutes 10.

A corpus of small images is packed (every kind of model that `tests/fuzz` damages, in every mode), one program with all
the kernels that they need is compiled with sanitizers, and mutants run in it, one after another. What is found is
printed with its number: `python -m tests.compiler.emit.image.damaged --only 123` tries that one again. With --libfuzzer
the same program is libFuzzer's, which looks for images that reach new code; give it hours."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

from mote.base.errors import MoteError
from mote.compiler.emit.image.entries import Limits, entry_files
from mote.compiler.emit.image.format import Feature
from mote.compiler.emit.image.kernels import KernelRecord, merged
from mote.compiler.emit.image.sources import runtime_files
from mote.compiler.packer import Image, pack
from tests.compiler.emit.image.c_runtime import CHECKED, built
from tests.compiler.emit.image.handmade import every_form, pushed, training
from tests.helpers.support import HOST_DSP, HOST_HELIUM

HERE = Path(__file__).parent
HANDMADE = {"every": every_form(), "wide": every_form(Feature.WIDE), "pushed": pushed(), "training": training()}
MODES: list[dict[str, Any]] = [
    {},
    {"optimize": "speed"},
    {"optimize": "size"},
    {"least_ram": True},
    {"input": "rows"},
    {"stream": 1},
    {"stream": 1, "least_ram": True},
    {"train": "last"},
    {"train": "prototype:classes=3", "least_ram": True},
]
TARGETS = ("host", HOST_DSP, HOST_HELIUM)
"""The portable kernels, and the portable twins of those for cores with other instructions."""
ROUND = 20_000
"""Mutants that one process tries."""
PROGRAM = ["-D_POSIX_C_SOURCE=200112L"]


def small_images(count: int, seed: int = 0) -> Iterator[Image]:
    """Images of random models, each packed in one of the modes that are possible for it."""
    from tests.fuzz.bases import base  # it imports half of the tests

    rng = Random(seed)
    while count > 0:
        _, model = base(rng)
        try:
            yield pack(model, target=rng.choice(TARGETS), **rng.choice(MODES))
            count -= 1
        except MoteError:
            continue


def program(
    folder: Path,
    main: str,
    records: Iterable[KernelRecord],
    *flags: str,
    compiler: str = "gcc",
    parts: Sequence[Path] = (),
) -> Path:
    """A program of kernels, the runtime and a file with the main function; `parts`: objects of the latter two."""
    runtime, entries = runtime_files(), entry_files(merged(records), Limits())
    for name, text in (runtime | entries).items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = [*(parts or [HERE / main]), *(folder / name for name in entries if name.endswith(".c"))]
    sources += [] if parts else [folder / name for name in runtime if name.endswith(".c")]
    return built(folder / "program", sources, f"-I{folder}", "-w", *(flags or CHECKED), *PROGRAM, compiler=compiler)


def write_corpus(folder: Path, count: int, seed: int) -> list[KernelRecord]:
    """The images, as files; the kernels that they need."""
    folder.mkdir(parents=True, exist_ok=True)
    records: list[KernelRecord] = []
    for i, image in enumerate(small_images(count, seed)):
        (folder / f"{seed}-{i:04}.mote").write_bytes(image.data)
        records += image.records
    return merged(records)


def tried(campaign: Path, arguments: Sequence[object], corpus: Sequence[Path]) -> tuple[int, str]:
    """Run some mutants: the exit status, and what was printed."""
    command = [str(campaign), *map(str, arguments), *map(str, corpus)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
    return done.returncode, done.stdout + done.stderr


def main() -> int:
    p = argparse.ArgumentParser(prog="python -m tests.compiler.emit.image.damaged", description=__doc__)
    p.add_argument("--seed", type=int, default=0, help="other mutants, and other images")
    p.add_argument("--images", type=int, default=150, help="images in the corpus")
    p.add_argument("--count", type=int, default=1_000_000, help="how many mutants there are")
    p.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    p.add_argument("--folder", type=Path, default=Path("build/damaged"), help="where corpus and program are")
    p.add_argument("--only", type=int, metavar="NUMBER", help="try one mutant")
    p.add_argument("--libfuzzer", action="store_true", help="with clang's libFuzzer, for so many minutes")
    options = p.parse_args()
    folder = options.folder / str(options.seed)
    corpus = folder / "corpus"
    records = write_corpus(corpus, options.images, options.seed)
    files = sorted(corpus.glob("*.mote"))
    if options.libfuzzer:
        flags = ("-g", "-O1", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all")
        target = program(folder, "libfuzzer.c", records, *flags, compiler="clang")
        limit = [] if options.minutes == float("inf") else [f"-max_total_time={int(60 * options.minutes)}"]
        return subprocess.run(
            [target, *limit, "-timeout=30", f"-artifact_prefix={folder}/", corpus], check=False
        ).returncode
    campaign = program(folder, "campaign.c", records)
    if options.only is not None:
        status, said = tried(campaign, (options.seed, f"{options.only}+1"), files)
        print(said)
        return status
    end, done = monotonic() + 60 * options.minutes, 0
    while done < options.count and monotonic() < end:
        count = min(ROUND, options.count - done)
        status, said = tried(campaign, (options.seed, f"{done}+{count}"), files)
        print(said.strip(), flush=True)
        if status != 0:
            return 1
        done += count
    print(f"{done:,} mutants of {len(files)} images, no finding")
    return 0


if __name__ == "__main__":
    sys.exit(main())
