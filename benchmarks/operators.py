"""The record of operators that `mote ops` prints and docs/models/operators.md has a table of.

PYTHONPATH=models:. python benchmarks/operators.py            # the table, from the record
PYTHONPATH=models:. python benchmarks/operators.py --record   # run tests, and record what they compile
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.helpers.operators_seen import RECORD, Seen, merged

from mote.ui.api.operators import markdown, operators

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "models" / "operators.md"
FILE = ROOT / "src" / "mote" / "ui" / "api" / "operators.json"
TESTS = (
    "tests/ir/ops",
    "tests/compiler/passes/test_stream.py",
    "tests/compiler/kernels/test_rows.py",
    "tests/fuzz",
    "tests/ui/api/test_operators.py",
    "tests/frontends/tflite/test_npu_streams.py",
)
BEGIN, END = "<!-- the record: benchmarks/operators.py -->\n", "<!-- end of the record -->\n"


def page() -> str:
    """The page with the table that follows from the record."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    return f"{before}{BEGIN}{markdown(operators())}\n{END}{rest.split(END)[1]}"


def recorded() -> Seen:
    """What the tests of operators compile."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", *TESTS]
        subprocess.run(command, cwd=ROOT, env={**os.environ, RECORD: folder}, check=False)
        seen: Seen = {}
        for path in sorted(Path(folder).glob("*.json")):
            merged(seen, json.loads(path.read_text(encoding="utf-8")))
        return seen


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--record", action="store_true", help="run the tests, and write the record and the page")
    if p.parse_args().record:
        FILE.write_text(json.dumps(recorded(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
        PAGE.write_text(page(), encoding="utf-8")
    print(markdown(operators()))


if __name__ == "__main__":
    main()
