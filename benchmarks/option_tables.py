"""What follows from the table of options (`mote.compiler.settings.TABLE`): the typed keywords of Python, which are
`src/mote/compiler/given.py`, and the tables of docs/reference/options.md.

PYTHONPATH=src python benchmarks/option_tables.py            # print the tables
PYTHONPATH=src python benchmarks/option_tables.py --write    # write both files
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from generated_table import Page
from mote.base.option import OptionRow, RestrictedUse
from mote.compiler.settings import TABLE
from mote.frontends.reading import BESIDE_MODELS

ROOT = Path(__file__).parents[1]
GIVEN = ROOT / "src" / "mote" / "compiler" / "given.py"
PAGE = Page(ROOT / "docs" / "reference" / "options.md", "<!-- options -->", "<!-- end of options -->")
CLASSES = {
    "ReadKeywords": ("TypedDict", "Keywords of functions that read a model."),
    "CommonOptions": ("ReadKeywords", 'Keywords of functions that compile, written as for commands: `ram="24K"`.'),
    "PackOptions": ("CommonOptions", "Keywords of `mote.pack` in addition to those in its signature."),
    "CompileOptions": ("PackOptions", "Keywords of `mote.compile`."),
}
HOMES = {"kernels": "PackOptions", "labels": "CompileOptions"} | dict.fromkeys(BESIDE_MODELS, "ReadKeywords")
"""The classes of keywords that other functions have for something else."""
HEAD = '''"""The options of `mote.compile` and the functions that compile, as users write them, for type checkers and
editors: written by benchmarks/option_tables.py from the table of options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from mote.hardware.targets import Target
'''
STAGES = {
    "ReadOptions": "How a model is read",
    "PassOptions": "What becomes of its graph",
    "TargetOptions": "The target, and what passes and the plan both obey",
    "PlanOptions": "The plan",
    "EmitOptions": "The C",
    "Shorthands": "Shorthands",
}
"""Titles of the tables: the classes of settings whose rows they have."""
USES = {
    RestrictedUse.IMAGE: "images",
    RestrictedUse.SEVERAL: "several models in one project",
    RestrictedUse.TWO_CORES: "`cores=2`",
}


def keywords(table: Mapping[str, OptionRow] = TABLE) -> str:
    """The file with the classes of keywords."""
    lines = [HEAD]
    for name, (base, about) in CLASSES.items():
        own = [row for row in table.values() if HOMES.get(row.name, "CommonOptions") == name]
        lines += ["", f"class {name}({base}, total=False):", f'    """{about}"""', ""]
        lines += [*(f"    {row.name}: {row.keyword}" for row in own), ""]
    return "\n".join(lines)


def tables(table: Mapping[str, OptionRow] = TABLE) -> str:
    """A table for each stage."""
    return "\n\n".join(
        "\n".join(
            [f"## {title}", "", "| Python | command line | values | |", "|---|---|---|---|"]
            + [_row(table, row) for row in table.values() if row.stage == stage]
        )
        for stage, title in STAGES.items()
    )


def _row(table: Mapping[str, OptionRow], row: OptionRow) -> str:
    flag = "" if row.only_python else f"`--{row.key}{f' {row.metavar}' if row.metavar else ''}`"
    values = ", ".join(f"`{choice}`" for choice in row.choices if choice) or f"`{row.keyword}`"
    refused = [f"not with `{other}`: {_reason(why)}" for other, why in row.excludes.items()]
    refused += [f"only with `{other}`" for other in row.needs]
    refused += [f"not for {USES[use]}: {_reason(why)}" for use, why in row.without.items()]
    cells = (f"`{row.name}`", flag, values + (f" in {row.unit}" if row.unit else ""), "; ".join([row.help, *refused]))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _reason(why: str | tuple[str, str]) -> str:
    return why if isinstance(why, str) else why[0]


if __name__ == "__main__":
    if "--write" in sys.argv:
        GIVEN.write_text(keywords(), encoding="utf-8")
    PAGE.run(tables(), __doc__)
