"""Where the generated C and the portable kernels deviate from MISRA C:2012, as cppcheck's add-on finds it, and why.

    make misra    # print the table, and write it into docs/trust/misra.md

Counts are of places (file and line) in the bundled models' own C and in the kernels that they and the small models of
`provable.py` use. Rules are named by their numbers and in our own words: their text is MISRA's.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import prove
from mote.base.files import fill
from mote.compiler import line as compiler
from mote.compiler.emit.c.project import Project

PAGE = Path(__file__).parents[1] / "docs" / "trust" / "misra.md"
BEGIN, END = "<!-- misra.py -->\n", "<!-- end -->\n"
CHECK = ("cppcheck", "--addon=misra", "--std=c99", "--platform=unix32", "-D__GNUC__", "-DMOTE_PORTABLE", "-q")
SHOW = ("--enable=style", "--template={id} {file}:{line}")
FOUND = re.compile(r"^misra-c2012-([\d.]+) (?:.*/)?([^/\s]+):(\d+)$", re.MULTILINE)
Places = dict[str, set[tuple[str, int]]]
"""For each rule the files and lines that deviate from it."""

REASONS = {
    "2.2": "dead operations: `+ 0` in generated addresses; it keeps them alike, and no compiler leaves an instruction",
    "2.3": "unused type names: a kernel's header defines its parameters for every variant",
    "2.4": "tags that nobody names: enums of constants",
    "2.5": "unused macros: a model's header offers more (sizes, scales, shapes) than a firmware may need",
    "5.5": "macros with the name of a function: by them an instruction set replaces a primitive of portable C",
    "8.7": "external functions used in one file: they are the interface",
    "8.9": "objects at file scope that one function uses: tables are kept together, in flash",
    "10.1": "operators on operands of another kind: shifts of signed numbers and sums of comparisons, in fixed point",
    "10.3": "assignments to a narrower or other kind of type: false where a step is a constant; else in range by proof",
    "10.4": "operands of different kinds: counts are int32_t, sizes of memory are size_t",
    "10.6": "a composite value in a wider type: false, it is 0 or 1",
    "10.8": "a cast of a composite value to a wider type: as 10.6",
    "11.3": "pointers to other objects: working memory is bytes or words, aligned for what lies in it",
    "11.5": "void pointers to objects: as 11.3",
    "12.1": "precedence without parentheses: the usual order of arithmetic and comparison",
    "12.2": "shifts whose range is not seen: Eva shows it",
    "12.3": "comma operators: loops that advance several pointers, and declarations that cppcheck takes for them",
    "13.3": "an increment beside other effects: `*out++ = ...`",
    "13.4": "the result of an assignment is used: several sums are cleared at once",
    "14.2": "a loop that is not counted plainly: pointers run to an end",
    "14.4": "a number as a condition: flags are int32_t in parameters",
    "15.5": "more than one return: early returns of special cases",
    "15.7": "no last else: there is nothing to do",
    "17.7": "results that nobody reads: memcpy, memset and memmove return their argument",
    "17.8": "parameters that change: pointers and counts run in place, which saves registers",
    "18.4": "pointer arithmetic with + and -: kernels walk over rows; Eva shows the bounds",
    "19.2": "unions: working memory is aligned by one",
    "20.1": "an include behind other text: the primitives of instruction sets come before those of portable C",
    "20.7": "macro parameters without parentheses: they are names or types",
    "20.10": "# and ##: kernels that macros define for a shape",
    "21.1": "a library name is defined: memcpy, where a build has to avoid words at odd addresses",
}
"""Why a rule is not followed."""


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--write", action="store_true", help="write the table into docs/trust/misra.md")
    options = p.parse_args()
    found = table(deviations(projects()))
    print(found)
    if options.write:
        head, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}{found}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def projects() -> list[Project]:
    """The bundled models, and small ones with every portable kernel."""
    bundled = [compiler.compile(prove.BUNDLED / f"{name}.tflite").project for name in ("digits", "keywords")]
    small = [prove.compiled_as(*case) for case in prove.QUICK]
    return [*bundled, *(compiled.project for compiled in small if compiled is not None)]


def deviations(given: Iterable[Project]) -> Places:
    """What cppcheck finds in the models' C; the own files of small models, which are all called `net`, are left out."""
    places: Places = defaultdict(set)
    for project in given:
        for rule, file, line in check(project):
            if not file.startswith("net"):
                places[rule].add((file, line))
    return places


def check(project: Project) -> list[tuple[str, str, int]]:
    with TemporaryDirectory() as folder:
        fill(Path(folder), project.files)
        source = Path(folder) / f"{project.options.name}.c"
        command = [*CHECK, *SHOW, str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [(rule, file, int(line)) for rule, file, line in FOUND.findall(done.stderr)]


def table(places: Places) -> str:
    rows = ["| rule | places | in kernels | why |", "|---|--:|--:|---|"]
    for rule in sorted(places, key=lambda r: [int(n) for n in r.split(".")]):
        kernels = sum(file.startswith("mote_") for file, _ in places[rule])
        rows.append(f"| {rule} | {len(places[rule])} | {kernels} | {REASONS.get(rule, 'none yet')} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
