"""Names of a model's variables in C: static variables, or members of the instance that every function gets a pointer
to."""

from __future__ import annotations

from mote.compiler.emit.c.options import ProjectOptions

HANDLE = "model"
"""Name of the parameter that points to an instance, and of the instance in generated programs."""


def instance_type(options: ProjectOptions) -> str:
    return f"{options.name}_t"


def variable(options: ProjectOptions, name: str) -> str:
    """A variable of the model, as a C expression in its functions."""
    return f"{HANDLE}->{name}" if options.instances else f"{options.name}_{name}"


def declared(options: ProjectOptions, name: str) -> str:
    """The name of a variable of the model in its declaration."""
    return name if options.instances else f"{options.name}_{name}"


def static(options: ProjectOptions, kind: str) -> str:
    """The beginning of the declaration of a variable: `kind`, static unless it is a member of an instance."""
    return kind if options.instances else f"static {kind}"


def taken(options: ProjectOptions, *parameters: str, const: bool = False) -> str:
    """The parameter list of a function of the model. `const`: the function does not write to the instance."""
    handle = f"{'const ' if const else ''}{instance_type(options)} *{HANDLE}"
    return ", ".join((*([handle] if options.instances else []), *parameters)) or "void"


def handed(options: ProjectOptions, *arguments: str) -> str:
    """The argument list of a call from one function of the model to another."""
    return ", ".join((*([HANDLE] if options.instances else []), *arguments))


def called(options: ProjectOptions, function: str, *arguments: str) -> str:
    """The call of a function of the model in a program around it; `function`: its name after the model's prefix."""
    given = (*([f"&{HANDLE}"] if options.instances else []), *arguments)
    return f"{options.name}_{function}({', '.join(given)})"
