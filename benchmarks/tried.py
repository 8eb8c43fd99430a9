"""What is tried to break Mote, and how often: `make tried` prints the table of SECURITY.md."""

from __future__ import annotations

from hypothesis import settings
from tests.compiler import test_untrusted
from tests.compiler.emit.c import test_compilers, test_misuse, test_selftest
from tests.compiler.emit.image import test_damaged, test_npu_images
from tests.deploy.agent import test_agent
from tests.frontends.data import test_arrays, test_sounds
from tests.frontends.tflite import test_malformed as bytes_
from tests.fuzz import test_documents_fuzz, test_fuzz
from tests.fuzz.corpus import EXPECTED
from tests.fuzz.mutants import MODES
from tests.fuzz.trial import EVERY_COMPUTED, EVERY_RUN
from tests.hardware.npu import test_check_c, test_mutants

HEAD = "| what is tried | in `make test-all` | by another command |\n|---|---|---|"


def rows() -> list[tuple[str, str, str]]:
    damaged = 2 * bytes_.FLIPPED + len(bytes_.SEEDS) * (bytes_.RESTRUCTURED + bytes_.COMPILED) + 2 * bytes_.NOISE
    edited = sum(count for _, count in test_fuzz.CAMPAIGNS)
    arrays = len(test_arrays.BAD) + 2 * test_arrays.DAMAGED
    return [
        (
            f"models edited through the schema: refused by name, or compiled; one in {EVERY_COMPUTED} compared with"
            f" LiteRT or ONNX Runtime, one in {EVERY_RUN} built with sanitizers, run and compared",
            f"{edited} mutants of `.tflite` files, {test_fuzz.ONNX_SLICE} of `.onnx` files",
            "`make fuzz`: without end",
        ),
        (
            "files with bytes changed at random, in their structure too, and files of noise",
            f"{damaged:,} files",
            "`make fuzz`: others",
        ),
        (
            "arrays, tables, sounds and archives of files as data: damaged, cut off, forged, and texts at random",
            f"{arrays + len(test_sounds.BAD) + 3 * settings.default.max_examples} files",
            "`make fuzz`: others",
        ),
        (
            "project, target, board and pin files, search spaces, manifests, records, journals, earlier reports,"
            " profiles and captures, JSON in models and images, answers of boards and of devices that are updated,"
            " saved states: values of other types, huge numbers, deep nesting, damaged text; read, or refused with a"
            " reason",
            f"{sum(count for _, count in test_documents_fuzz.CAMPAIGNS):,} mutants",
            "`make fuzz`: without end",
        ),
        (
            "images with numbers changed where numbers are, every byte and every length of small ones; with sanitizers:"
            " refused, or run inside of their memory",
            f"{sum(test_damaged.MUTANTS) + test_npu_images.MUTANTS:,} mutants, some with jobs of an Ethos-U",
            "`make fuzz`: ten minutes; `python -m tests.compiler.emit.image.damaged`: 10^6",
        ),
        (
            "requests to the agent of a board, damaged both ways, with resets at any byte; with sanitizers: no wrong"
            " answer, nothing stands still",
            "{:,} requests, {} resets".format(*test_agent.TRIED),
            "`make fuzz`: {:,} requests, {:,} resets".format(*test_agent.FUZZED),
        ),
        (
            "command streams and weights of Ethos-U with words changed: refused, or checked alike in Python and C,"
            " and executed inside of their memory",
            f"{test_mutants.TRIALS + test_mutants.MORE:,} mutants, {test_check_c.MUTANTS:,} in C with sanitizers",
            "`make fuzz`: five minutes",
        ),
        (f"files that once failed, in {len(MODES)} modes", f"{len(EXPECTED)} files", ""),
        (
            "flipped bits in constants, parameters and tables in flash",
            " and ".join(f"one bit in {stride}" for _, stride in test_selftest.FLIPPED),
            "`benchmarks/selftest.py`: about 20,000 of each model",
        ),
        (
            "kernels in which one place says something else",
            f"{len(test_selftest.MUTATED) * test_selftest.MUTANTS} mutants",
            "`benchmarks/selftest.py`: 100 of each model",
        ),
        ("saved states: flipped, cut off, forged, of another model", "every bit and every length", ""),
        ("calls before init and after one that failed", f"{2 * len(test_misuse.MODES)} builds", ""),
        (
            "compilers, languages, levels and options, big-endian and 32 bits among them",
            f"{len(test_compilers.BUILDS)} builds of every kernel",
            "",
        ),
        (
            "proofs that no input leads to a run-time error (Frama-C)",
            "models of every kind, each in some modes",
            "`make prove`: all small models in all modes, and the bundled ones",
        ),
        ("hostile text in models and target files", f"{len(test_untrusted.HOSTILE)} kinds", ""),
        ("a kill, and a failure, at every call that changes files", "every call", ""),
    ]


def table() -> str:
    return "\n".join([HEAD, *(f"| {' | '.join(row)} |" for row in rows())])


if __name__ == "__main__":
    print(table())
