"""How much the self-test sees: flipped bits of the constants, and kernels in which one place says something else.

    python benchmarks/selftest.py [MODEL.tflite ...] [--mutants N]

prints the table of docs/deploy/c-api.md. A mutant that the self-test accepts counts as missed where any tensor is
wrong for any of INPUTS other inputs, else as equal.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from mote.bench.evaluation.verify import verify
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile

MODELS = Path(__file__).parents[1] / "models"
INPUTS = 30
BITS = 20_000
"""About how many bits of each model are flipped."""

FLIPS = """
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "{name}.c"

static size_t flipped, missed;

/* Bits of what lies somewhere, one at a time. */
static void flip(const void *at, size_t bytes, size_t stride) {{
    uint8_t *const data = (uint8_t *)(uintptr_t)at;
    const uintptr_t page = (uintptr_t)data & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    const size_t all = (size_t)((uintptr_t)data - page) + bytes;
    if (mprotect((void *)page, all, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) exit(2);
    for (size_t bit = flipped % stride; bit < 8 * bytes; bit += stride, flipped++) {{
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        missed += {name}_check() != MOTE_DAMAGED;
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }}
}}

/* Constants, and every bit of what says where they are. */
static void flip_constants(const mote_constant_t *constants, size_t count) {{
    for (size_t i = 0; i < count; i++) {{
        flip(constants[i].data, constants[i].bytes, {stride});
        flip(&constants[i].data, sizeof constants[i].data, 1);
        flip(&constants[i].end, sizeof constants[i].end, 1);
        flip(&constants[i].bytes, sizeof constants[i].bytes, 1);
    }}
}}

/* Every bit of pointers, and of what says where they are. */
static void flip_addresses(const mote_address_t *addresses, size_t count) {{
    for (size_t i = 0; i < count; i++) {{
        flip(addresses[i].at, sizeof(void *), 1);
        flip(&addresses[i], sizeof addresses[i], 1);
    }}
}}

int main(void) {{
    if ({name}_check() != MOTE_OK) return 1;
    {calls}
    printf("%zu %zu", flipped, missed);
    return {name}_check() != MOTE_OK;
}}
"""
CHANGES = (
    (r" \+ (?!\+)", " - "),
    (r" - (?!>)", " + "),
    (r" \* (?=\w)", " + "),
    (r" < ", " <= "),
    (r" > ", " >= "),
    (r" == ", " != "),
    (r" >> ", " << "),
    (r" << ", " >> "),
    (r" \+= ", " -= "),
    (r"\b0\b(?!x|\.)", "1"),
    (r"\b1\b", "2"),
    (r"-128\b", "-127"),
    (r"\b127\b", "126"),
    (r" & ", " | "),
    (r" && ", " || "),
    (r" \? ([^:;]+) : ([^:;,)]+)", r" ? \2 : \1"),
)
"""What a wrong compiler, or a typing error, could make of an expression."""
UNRELATED = ("mote_crc.h",)
"""What the self-test itself is made of."""


def flips(compiled: Compiled, stride: int, folder: Path) -> tuple[int, int]:
    """How many bits of constants, parameters and the check's own tables were flipped, and how many of them `NAME_check`
    did not see."""
    name, text = compiled.name, compiled.project.files[f"{compiled.name}.c"]
    tables = re.findall(rf"^static const mote_(constant|address)_t ({name}_checked_\w+)", text, re.MULTILINE)
    flipped = {"constant": "flip_constants", "address": "flip_addresses"}
    calls = "\n    ".join(f"{flipped[kind]}({table}, sizeof {table} / sizeof *{table});" for kind, table in tables)
    compiled.write(folder)
    (folder / "flips.c").write_text(FLIPS.format(name=name, calls=calls, stride=stride))
    subprocess.run(["gcc", "-w", "-O2", "flips.c", "-o", "flips", "-lm"], cwd=folder, check=True)
    done = subprocess.run(["./flips"], cwd=folder, check=True, capture_output=True, text=True)
    count, missed = map(int, done.stdout.split())
    return count, missed


@dataclass(frozen=True)
class Mutant:
    compiled: Compiled
    file: str
    line: int
    before: str
    after: str

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}: {self.before.strip()} -> {self.after.strip()}"


def mutants(compiled: Compiled, folder: Path, seed: int = 0) -> Iterator[Mutant]:
    """Changes of the kernels that the model is made with, in random order: all that a compiler takes, and makes other
    code of."""
    places = []
    for file, text in compiled.project.files.items():
        if file.startswith("mote_") and file not in UNRELATED:
            places += [(file, *found) for found in _places(text)]
    random.Random(seed).shuffle(places)
    original = _object(compiled, folder / "original")
    for file, number, before, after in places:
        lines = compiled.project.files[file].split("\n")
        lines[number] = after
        project = replace(compiled.project, files={**compiled.project.files, file: "\n".join(lines)})
        changed = replace(compiled, project=project)
        if _object(changed, folder / "mutant") not in (b"", original):
            yield Mutant(changed, file, number + 1, before, after)


def _object(compiled: Compiled, folder: Path) -> bytes:
    """What a compiler makes of a model; nothing where it refuses it."""
    compiled.write(folder)
    command = ["gcc", "-w", "-O1", "-DMOTE_SELFTEST", "-c", f"{compiled.name}.c", "-o", "model.o"]
    done = subprocess.run(command, cwd=folder, capture_output=True)
    return (folder / "model.o").read_bytes() if done.returncode == 0 else b""


def _places(text: str) -> Iterator[tuple[int, str, str]]:
    """Lines of C code, not of comments, macros or assembly, and what becomes of them."""
    comment = False
    for number, line in enumerate(text.split("\n")):
        code = re.sub(r"/\*.*?\*/", lambda m: " " * len(m[0]), line)
        inside, comment = comment, (comment or "/*" in code) and "*/" not in code
        if inside or "/*" in code or code.startswith("#") or '"' in code or not code.startswith(" "):
            continue
        for pattern, new in CHANGES:
            for found in re.finditer(pattern, code):
                yield number, line, line[: found.start()] + found.expand(new) + line[found.end() :]


def noticed(folder: Path) -> bool:
    """Whether the self-test of the mutant that was yielded last fails, crashes or does not end."""
    command = ["gcc", "-w", "-O0", "-I.", "selftest/selftest.c", "model.o", "-o", "program", "-lm"]
    subprocess.run(command, cwd=folder / "mutant", check=True)
    try:
        return subprocess.run(["./program"], cwd=folder / "mutant", capture_output=True, timeout=10).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def matters(mutant: Mutant, inputs: int) -> bool:
    """Whether any tensor of the model is wrong for any of several other inputs."""
    return not verify(mutant.compiled, inputs, seed=1).passed


def counts(compiled: Compiled, folder: Path, most: int) -> str:
    """A row of the table."""
    flipped, missed = flips(compiled, max(1, 8 * compiled.project.constants // BITS), folder / "flips")
    seen, equal, lost = 0, 0, []
    for mutant in islice(mutants(compiled, folder), most):
        if noticed(folder):
            seen += 1
        elif matters(mutant, INPUTS):
            lost.append(mutant.place)
        else:
            equal += 1
    for place in lost:
        print(f"missed: {place}", file=sys.stderr)
    kept = f"{seen} | {equal} | {len(lost)}"
    return f"| {compiled.name} | {flipped:,} | {flipped - missed:,} | {seen + equal + len(lost)} | {kept} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", default=[MODELS / f"{n}.tflite" for n in ("digits", "keywords")])
    parser.add_argument("--mutants", type=int, default=100, help="of each model (default: 100)")
    arguments = parser.parse_args()
    print("| model | bits flipped | seen by `check` | mutants | noticed | equal | missed |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for model in arguments.models:
        with TemporaryDirectory(prefix="mote-") as folder:
            print(counts(compile(model), Path(folder), arguments.mutants), flush=True)


if __name__ == "__main__":
    main()
