"""`make`: a Makefile for the library, whose core is chosen by flags, and for example and self-test on the host."""

from __future__ import annotations

from mote.compiler.emit.c.programs.example import EXAMPLE, SELFTEST
from mote.compiler.emit.licence import SPDX
from mote.compiler.package.dependencies import folders, in_make, make_variable
from mote.compiler.package.description import Files, Package
from mote.compiler.package.templates import filled
from mote.hardware.targets.flags import NATIVE, STANDARD, UNFUSED

KNOWS = "$(shell $(CC) $(f) -E -xc /dev/null >/dev/null 2>&1 && echo $(f))"
"""Makefile expression: compiler option `f` if the compiler supports it."""
NATIVELY = f"""\
# Every instruction of this computer that its compiler knows, as Mote measures: NATIVE= leaves them out.
ifeq ($(origin NATIVE), undefined)
NATIVE := $(firstword $(foreach f, {" ".join(NATIVE)}, {KNOWS}))
endif
"""
WARNINGS = "-Wall -Wextra -Wconversion -pedantic"


def files(package: Package) -> Files:
    """The library in one folder with a Makefile."""
    return {**in_one_folder(package), "Makefile": _makefile(package)}


def in_one_folder(package: Package) -> Files:
    """The files of the library, with the example and the self-test in folders of their own."""
    folder = EXAMPLE.rpartition("/")[0]
    beside = {f"{folder}/{file}": text for file, text in package.example_files.items()}
    selftest = {SELFTEST: package.selftest} if package.selftest else {}
    return {**package.files, EXAMPLE: package.example.program(), **beside, **selftest}


def _makefile(package: Package) -> str:
    name, level = package.name, package.optimization.level
    listed = " \\\n    ".join((*package.sources, *map(_escaped, package.external)))
    foreign = [dependency.library for dependency in package.dependencies]
    variables = ["SOURCES", *map(make_variable, foreign)]
    sources = " ".join(f"$({variable})" for variable in variables)
    objects = "$(OBJECTS)" if foreign else "$(SOURCES:.c=.o)"
    headers = " ".join(package.headers)
    theirs = [path for dependency in package.dependencies for path in folders(dependency, "$({})")]
    include = " ".join(["-I.", *(f"-I{_escaped(path)}" for path in package.includes), *(f"-I{p}" for p in theirs)])
    cross = " ".join((level, *package.needed))
    compiler, archiver, core = _cross_tools(package)
    told = " ".join(package.only_gcc)
    only_gcc = f"$(if $(findstring Free Software,$(shell $(CC) --version)),{told}) " if told else ""
    library, needed = ("-lm", "the library m") if package.math else ("", "no library")
    example = " ".join((EXAMPLE, *package.example_sources))
    programs = ["example/example", *(["selftest/selftest"] if package.selftest else [])]
    must = f"\n# {' '.join(package.needed)} is needed: sums in kernels may wrap." if package.needed else ""
    selftest = f"""
# MOTE_SELFTEST lets the self-test see the output of every step.
selftest/selftest: {SELFTEST} {sources} {headers}
\t$(CC) $(CFLAGS) {include} -DMOTE_SELFTEST -o $@ {SELFTEST} {sources} $(LDLIBS)

test: selftest/selftest
\t./selftest/selftest
"""
    return filled(
        "Makefile",
        {
            "SPDX": SPDX,
            "NAME": name,
            "COMPILER": compiler,
            "ARCHIVER": archiver,
            "CORE": core,
            "CROSS": cross,
            "VARIABLES": " and ".join(variables),
            "NEEDED": needed,
            "MEASURED": package.measured,
            "MUST": must,
            "NATIVELY": NATIVELY if package.target.is_native else "",
            "STANDARD": STANDARD,
            "NATIVE": f"$(NATIVE) {UNFUSED} " if package.target.is_native else "",
            "ONLY_GCC": only_gcc,
            "WARNINGS": WARNINGS,
            "LIBRARY": library,
            "LISTED": listed,
            "LIBRARIES": in_make(package.dependencies, package),
            "OBJECT_RULES": _objects(sources) if foreign else "",
            "PROGRAMS": " ".join(programs),
            "OBJECTS": objects,
            "HEADERS": headers,
            "INCLUDE": include,
            "EXAMPLE": example,
            "SOURCES": sources,
            "SELFTEST": selftest if package.selftest else "",
        },
    )


def _cross_tools(package: Package) -> tuple[str, str, str]:
    """The cross compiler and archiver for the package's core, and the compiler flags without optimization; placeholders
    if the package is for the host."""
    target = package.target
    if target.is_host:
        return "arm-none-eabi-gcc", "arm-none-eabi-ar", "-mcpu=cortex-m4"
    flags = " ".join((STANDARD, *target.core_flags, "-ffunction-sections", "-fdata-sections"))
    return target.core.gcc, f"{target.core.gcc.removesuffix('gcc')}ar", flags


def _objects(sources: str) -> str:
    """Makefile rules that put all object files into this folder, as other folders may be read-only."""
    return f"""\
OBJECTS = $(notdir $(patsubst %.c,%.o,{sources}))
vpath %.c $(sort $(dir {sources}))

"""


def _escaped(path: str) -> str:
    """A path escaped for make and its shell."""
    return path.replace("$", "$$").replace(" ", "\\ ")
