"""Pruning targets (MACs, flash bytes or cycles, absolute or relative), and the search for the first pruning step that
meets one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

from mote.base.errors import BudgetError, MoteError
from mote.compiler.compiled import Compiled
from mote.compiler.fitting.code_size import code_size
from mote.hardware.targets import parse_size

UNITS = {"macs": "multiplications", "flash": "bytes of flash", "cycles": "cycles by the estimate"}
"""Units of pruning targets in error messages, by option."""
PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?%", re.ASCII)


@dataclass(frozen=True)
class PruningTarget:
    """Upper limit of a pruned model's cost."""

    unit: str
    number: int = 0
    share: float = 0.0
    """Limit as a share of the unpruned model's cost, if no absolute number was given."""

    def of(self, whole: int) -> int:
        """The limit as an absolute cost, for an unpruned model of cost `whole`."""
        return self.number or int(self.share * whole)


def limit_of(**options: Any) -> PruningTarget:
    """Parses the single pruning target among a user's options."""
    given = {option: value for option, value in options.items() if value is not None}
    if len(given) != 1:
        names = ", ".join(f"--{option}" for option in UNITS)
        reason = "no target was given" if not given else f"{len(given)} targets were given"
        raise MoteError(reason, remedy=f"say how much the model may take, by one of {names}: --macs 50%")
    ((unit, value),) = given.items()
    return _limit(unit, value)


def _limit(unit: str, value: Any) -> PruningTarget:
    percent = PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if percent:
        share = float(percent[1]) / 100
        if not 0 < share < 1:
            raise MoteError(f"{value} is not between 0% and 100%", where=f"option {unit}")
        return PruningTarget(unit, share=share)
    try:
        number = parse_size(value) if unit == "flash" else int(value)
    except (MoteError, TypeError, ValueError):
        number = 0
    if number <= 0:
        sizes = "60K, 60000" if unit == "flash" else "1000000"
        remedy = f"write it like 50% or {sizes}"
        raise MoteError(
            f"'{value}' is neither a percentage nor a number above zero", where=f"option {unit}", remedy=remedy
        )
    return PruningTarget(unit, number=number)


Cost = Callable[[int, int | None], float]
"""Computes the cost of a pruning step by number, within an optional flash budget; infinite if it does not fit."""


def compiled_cost(unit: str, compile: Callable[[int, int | None], Compiled]) -> Cost:
    """Cost function for flash or cycles, given a function that compiles a pruning step for a flash budget."""

    def cost(number: int, most: int | None) -> float:
        try:
            compiled = compile(number, most if unit == "flash" else None)
        except BudgetError:
            return inf
        if unit == "cycles":
            return compiled.cost
        return code_size(compiled).flash

    return cost


def first_within(limit: PruningTarget, steps: int, cost: Cost, model: str) -> tuple[int, int]:
    """Bisects for the first pruning step within a limit; returns it and the absolute limit. Costs must not increase
    from step to step."""
    unit, whole = UNITS[limit.unit], cost(0, None)
    if limit.share and whole == inf:
        reason = f"the unpruned model does not fit the target, so that {limit.share:.0%} of its cost is unknown"
        raise MoteError(reason, where=model, remedy=f"give --{limit.unit} as a number")
    most = limit.of(0 if whole == inf else int(whole))
    if cost(0, most) <= most:
        raise MoteError(
            f"takes no more than the {most:,} {unit} that it may take as it is",
            where=model,
            remedy=f"give a lower --{limit.unit}" + (", or compile it with --flash" if limit.unit == "flash" else ""),
        )
    if cost(steps - 1, most) > most:
        least = cost(steps - 1, None)
        raise MoteError(
            f"takes {least:,.0f} {unit} however much is pruned, more than the {most:,} that it may take",
            where=model,
            remedy=f"give a higher --{limit.unit}, prune something else, or begin with a smaller model",
        )
    above, within = 0, steps - 1
    while within - above > 1:
        middle = (above + within) // 2
        if cost(middle, most) <= most:
            within = middle
        else:
            above = middle
    return within, most
