"""The kernels of the stock runtime: src/mote/compiler/emit/image/stock.json.

PYTHONPATH=models:. python benchmarks/kernels.py            # how many there are, by header
PYTHONPATH=models:. python benchmarks/kernels.py --record   # run tests of operators, and record what they compile

Recorded are all kernels that any core could choose for what the tests of operators, the bundled and the generated
models hold, but for code that is made for one layer. Records are added to those that are there, so that an image that
was packed for an older stock runtime finds all of its kernels in a newer one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from tests.helpers.kernels_seen import RECORD, seen

import fingerprints
import mlperf_tiny
from mote import frontends
from mote.base.errors import MoteError
from mote.compiler.emit.image.kernels import KernelRecord, merged
from mote.compiler.emit.image.stock_kernels import everything
from mote.compiler.kernels.contract import Call, Instance
from mote.compiler.kernels.structs import fields

ROOT = Path(__file__).parents[1]
FILE = ROOT / "src" / "mote" / "compiler" / "emit" / "image" / "stock.json"
TESTS = (
    "tests/ir/ops",
    "tests/compiler/passes/test_stream.py",
    "tests/frontends",
    "tests/compiler/kernels/test_rows.py",
    "tests/ui/api/test_operators.py",
)
JOINED = 16
"""How many tensors are joined or added up at most, all fewer included: as many as a step of an image can have."""


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--record", action="store_true", help="run the tests, and write the records")
    p.add_argument("--from", dest="folder", help="records of an earlier run, instead of running the tests")
    p.add_argument("--anew", action="store_true", help="forget what was recorded before")
    options = p.parse_args()
    if options.record or options.folder:
        found = of_tests(Path(options.folder)) if options.folder else _recorded()
        found = merged([*found, *of_models()])
        known = [] if options.anew else _unchanged(found)
        write(merged(_several([*known, *found])))
    print(table(everything()))


def _unchanged(found: Iterable[KernelRecord]) -> list[KernelRecord]:
    """What was recorded before, but for kernels that are made in another way now."""
    newer = {record.id: record for record in found}
    return [record for record in everything() if record.id not in newer or _same(record, newer[record.id])]


def _same(record: KernelRecord, newer: KernelRecord) -> bool:
    try:
        record.joined(newer)
    except ValueError:
        return False
    return True


def _recorded() -> list[KernelRecord]:
    """What the tests of operators compile."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", *TESTS]
        subprocess.run(command, cwd=ROOT, env={**os.environ, RECORD: folder}, check=False)
        return of_tests(Path(folder))


def of_tests(folder: Path) -> list[KernelRecord]:
    texts = (path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.json")))
    return [KernelRecord.from_json(one) for text in texts for one in json.loads(text)]


def of_models() -> Iterator[KernelRecord]:
    """Of the bundled models and of those that are generated."""
    for name in (*fingerprints.MODELS, *(f"{n} float32" for n in mlperf_tiny.NAMES)):
        bare = name.removesuffix(" float32")
        data = fingerprints.data(name) if name in fingerprints.MODELS else mlperf_tiny.build(bare, dtype="float32")
        yield from seen(frontends.read(frontends.source_of(data)).graph())


def _several(records: Iterable[KernelRecord]) -> Iterator[KernelRecord]:
    """The records, those of kernels that take some tensors for every other number of them, and of functions of two
    tensors both forms: for one shape, and by rows."""
    for record in records:
        yield record
        if (twin := _twin(record)) is not None:
            yield twin
        for count in range(1, JOINED + 1):
            other = _with(record, count)
            if other is not None:
                yield other


def _twin(record: KernelRecord) -> KernelRecord | None:
    """The other form of a function of two tensors that a macro defines."""
    if record.operands != 2 or not record.instances or record.call not in (Call.FLAT, Call.ROWS):
        return None
    plain = record.call is Call.FLAT
    name = f"{record.name}_rows" if plain else record.name.removesuffix("_rows")
    try:
        found = fields(record.files, f"mote_{name}_t", tuple(map(str, record.instances)))
    except MoteError:
        return None
    if name == record.name or record.row or record.rows:
        return None
    return replace(record, name=name, call=Call.ROWS if plain else Call.FLAT, fields=found)


def _with(record: KernelRecord, count: int) -> KernelRecord | None:
    """The kernel that takes so many tensors where this one takes some."""
    if record.headers[0] not in ("join", "add_n") or record.name == "join":
        return None
    (instance,) = record.instances
    names = [f"x{i}" for i in range(count)]
    old = [f"x{i}" for i in range(record.operands)]
    assert list(instance.arguments[-record.operands :]) == old, "the tensors' names are the last arguments"
    head = [_renumbered(a, record.operands, count) for a in instance.arguments[: -record.operands]]
    made = Instance(instance.macro, (*head, *names), (), instance.facts)
    name = record.name.replace(f"_{record.operands}", f"_{count}", 1)
    return replace(record, name=name, operands=count, instances=(made,))


def _renumbered(argument: str | int, old: int, count: int) -> str | int:
    """The number of tensors, or the list of a function's parameters, for another number of them."""
    if argument == old:
        return count
    if isinstance(argument, str) and argument.startswith("("):
        given = argument.split(", ")
        first = next(i for i, parameter in enumerate(given) if re.search(r"\bx0$", parameter))
        made = [re.sub(r"x0$", f"x{i}", given[first]) for i in range(count)]
        return ", ".join([*given[:first], *made, *given[first + old :]])
    return argument


def write(records: Iterable[KernelRecord]) -> None:
    """One record a line, sorted by header and name, so that changes are easy to see."""
    found = sorted(records, key=lambda r: (r.headers, r.name))
    lines = ",\n".join(json.dumps(r.to_json()) for r in found)
    FILE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    everything.cache_clear()


def table(records: Iterable[KernelRecord]) -> str:
    counts = Counter(r.headers for r in records)
    lines = [f"{count:5}  {' '.join(headers)}" for headers, count in sorted(counts.items())]
    return "\n".join([*lines, f"{counts.total():5}  kernels"])


if __name__ == "__main__":
    main()
