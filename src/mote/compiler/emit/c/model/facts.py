"""Costs of a model for the comment at the top of its header: planned, estimated, and measured with a compiler."""

from __future__ import annotations

from mote.compiler.emit.c.model.training import learning_function, training
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.plan.plan import Plan


def facts(plan: Plan, options: ProjectOptions, constants: int) -> str:
    """Lines about RAM, flash, stack and time. `constants`: bytes of constant arrays in flash."""
    built = options.built
    told = f", built by {built.compiler}" if built else ""
    code = f", {built.code} bytes of code" if built else ""
    lines = {"RAM": _ram(plan), "flash": f"{built.constants if built else constants} bytes of constants{code}"}
    if built and built.stack is not None:
        own = training(plan)
        learns = f", or in {learning_function(own, options)}" if own else ""
        lines["stack"] = f"{built.stack} bytes at most in a run{learns}"
    if options.estimate:
        cores = " on two cores" if plan.goal.cores == 2 else ""
        lines["time"] = f"about {options.estimate}{cores}, by Mote's cost model"
    rows = "\n".join(f"    {name:<7}{text}" for name, text in lines.items())
    return f"Costs on {options.target}{told}:\n{rows}"


def _ram(plan: Plan) -> str:
    split = ", ".join(f"{m.name} {nbytes}" for m, nbytes in zip(plan.memories, plan.arenas, strict=False))
    state = f", of which {plan.kept_bytes} are state" if plan.kept_bytes else ""
    return f"{plan.arena} bytes of arena{f' ({split})' if split else ''}, {plan.static} bytes beside it{state}"
