"""`make`: builds the example and the self-test with the host's compiler."""

from __future__ import annotations

from mote.emit.c.programs.example import EXAMPLE, SELFTEST
from mote.emit.c.project import Project
from mote.emit.licence import SPDX

WARNINGS = "-Wall -Wextra -Wconversion -pedantic"


def files(project: Project) -> dict[str, str]:
    """The Makefile of a C project."""
    options, sources = project.options, " ".join((*project.sources, *map(_escaped, project.external)))
    named = (source.removesuffix("c") + "h" for source in project.sources)
    headers = " ".join(header for header in named if header in project.files)
    include = " ".join(["-I.", *(f"-I{_escaped(path)}" for path in project.includes)])
    how, library = options.optimization, "-lm" if project.math else ""
    needed = "the library m" if project.math else "no library"
    told = " ".join(options.only_gcc)
    only_gcc = f"$(if $(findstring Free Software,$(shell $(CC) --version)),{told}) " if told else ""
    text = f"""\
# {SPDX}
# Builds the example and the self-test with the host's compiler; for a microcontroller, add {sources} to your
# own build: no other source file and {needed} is needed.
# {options.measured}
CC ?= cc
CFLAGS ?= -std=c99 {how.level} {only_gcc}{WARNINGS}
LDLIBS ?= {library}

all: example/example selftest/selftest

example/example: {EXAMPLE} {sources} {headers}
\t$(CC) $(CFLAGS) {include} -o $@ {EXAMPLE} {sources} $(LDLIBS)

# MOTE_SELFTEST lets the self-test see the output of every step.
selftest/selftest: {SELFTEST} {sources} {headers}
\t$(CC) $(CFLAGS) {include} -DMOTE_SELFTEST -o $@ {SELFTEST} {sources} $(LDLIBS)

test: selftest/selftest
\t./selftest/selftest

clean:
\trm -f example/example selftest/selftest

.PHONY: all test clean
"""
    return {"Makefile": text}


def _escaped(path: str) -> str:
    """A path as make and its shell take it."""
    return path.replace("$", "$$").replace(" ", "\\ ")
