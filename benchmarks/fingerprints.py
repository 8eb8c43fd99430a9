"""Hashes of generated C projects: a change that should not alter the generated code is seen not to. fingerprints.json.

    PYTHONPATH=models python benchmarks/fingerprints.py             # which projects have changed
    PYTHONPATH=models python benchmarks/fingerprints.py --update    # write the hashes of today

The bundled and the generated models are compiled for cores with and without tuned kernels, in every mode. The tests
compare the same hashes. A commit that changes one says why; one that only moves code changes none.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cache
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import mcunet_v2
import mlperf_tiny
from mote.base.errors import MoteError
from mote.compiler import line as compiler
from mote.compiler.emit.c.project import Project
from mote.compiler.several import compile_shared

HERE = Path(__file__).parent
FILE = HERE / "fingerprints.json"
UPDATE = "PYTHONPATH=models python benchmarks/fingerprints.py --update"
TARGETS = ("cortex-m4", "cortex-m0plus", "cortex-m55", "rv32imc")
MODES: dict[str, dict[str, Any]] = {
    "speed": {"optimize": "speed"},
    "balanced": {},
    "size": {"optimize": "size"},
    "ram min": {"least_ram": True},
    "input rows": {"input": "rows"},
    "stream": {"stream": 1, "causal": True},
    "step": {"step": "row"},
    "red zones": {"red_zones": True},
}
SHARED = "shared arena"
BUNDLED = ("digits", "keywords")
GENERATED: dict[str, Callable[[], bytes]] = {
    **{name: lambda name=name: mlperf_tiny.build(name) for name in mlperf_tiny.NAMES},
    "ic float32": lambda: mlperf_tiny.build("ic", dtype="float32"),
    "mcunet v2": lambda: mcunet_v2.build(mcunet_v2.SMALL),
}
MODELS = (*BUNDLED, *GENERATED)

Hashes = dict[str, str]


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--update", action="store_true", help="write the hashes")
    p.add_argument("models", nargs="*", default=MODELS, help="only these models (to look, not with --update)")
    options = p.parse_args()
    before = load() if FILE.exists() else {}
    chosen = list(cases(options.models))
    with Pool() as pool:
        hashes = pool.starmap(fingerprints, chosen, chunksize=1)
    after = {key(*case): hashed for case, hashed in zip(chosen, hashes, strict=True)}
    for name, found in after.items():
        for line in changes(name, before.get(name, {}), found):
            print(line)
    if options.update:
        FILE.write_text(json.dumps(before | after, indent=1) + "\n", encoding="utf-8")


def cases(models: tuple[str, ...] = MODELS) -> Iterator[tuple[str, str]]:
    return ((model, target) for model in models for target in TARGETS)


def key(model: str, target: str) -> str:
    return f"{model}, {target}"


def load() -> dict[str, Hashes]:
    found: dict[str, Hashes] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def changes(name: str, before: Hashes, after: Hashes) -> list[str]:
    return [
        f"{name}, {mode}: {before.get(mode, 'new')} -> {new}" for mode, new in after.items() if before.get(mode) != new
    ]


def fingerprints(model: str, target: str) -> Hashes:
    """Two hashes of the project in each mode: of the model's own files, and of the kernel library's files beside them.
    Of a mode that the model cannot be compiled in, that it is refused."""
    found = {mode: _fingerprint(lambda o=o: _compile(model, target, o)) for mode, o in MODES.items()}
    return found | {SHARED: _fingerprint(lambda: _shared(model, target))}


def _compile(model: str, target: str, options: dict[str, Any]) -> Project:
    return compiler.compile(data(model), target=target, **options).project


def _shared(model: str, target: str) -> Project:
    """The model and a bundled one in one folder."""
    other = "digits" if model != "digits" else "keywords"
    return compile_shared([data(model), HERE.parent / "models" / f"{other}.tflite"], target=target).project


def _fingerprint(build: Callable[[], Project]) -> str:
    try:
        project = build()
    except MoteError:
        return "refused"
    library = [name for name in sorted(project.files) if name.startswith("mote_")]
    own = [name for name in sorted(project.files) if name not in library]
    return f"{_hash(project, own)} {_hash(project, library)}"


def _hash(project: Project, names: list[str]) -> str:
    text = "".join(f"{name}\n{project.files[name]}" for name in names)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def data(model: str) -> bytes:
    return GENERATED[model]() if model in GENERATED else (HERE.parent / "models" / f"{model}.tflite").read_bytes()


if __name__ == "__main__":
    main()
