"""Names of a model's variables in C: static ones, or members of an instance that every function takes a pointer to."""

from __future__ import annotations

from mote.compiler.emit.c.options import ProjectOptions

HANDLE = "model"
"""The parameter that points to an instance, and the instance in generated programs."""


def instance_type(options: ProjectOptions) -> str:
    return f"{options.name}_t"


def variable(options: ProjectOptions, name: str) -> str:
    """A variable as an expression in the model's functions."""
    return f"{HANDLE}->{name}" if options.instances else f"{options.name}_{name}"


def declared(options: ProjectOptions, name: str) -> str:
    """A variable's name where it is declared."""
    return name if options.instances else f"{options.name}_{name}"


def static(options: ProjectOptions, kind: str) -> str:
    """The beginning of a variable's declaration."""
    return kind if options.instances else f"static {kind}"


def taken(options: ProjectOptions, *parameters: str, const: bool = False) -> str:
    """The parameters of a function of the model. `const`: it does not write to the instance."""
    handle = f"{'const ' if const else ''}{instance_type(options)} *{HANDLE}"
    return ", ".join((*([handle] if options.instances else []), *parameters)) or "void"


def handed(options: ProjectOptions, *arguments: str) -> str:
    """The arguments of a call from one function of the model to another."""
    return ", ".join((*([HANDLE] if options.instances else []), *arguments))


def called(options: ProjectOptions, function: str, *arguments: str) -> str:
    """A program's call of a function of the model, by its suffix."""
    given = (*([f"&{HANDLE}"] if options.instances else []), *arguments)
    return f"{options.name}_{function}({', '.join(given)})"
