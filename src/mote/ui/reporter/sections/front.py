"""RAM against time against flash: the plans to choose from, and the command that compiles each."""

from __future__ import annotations

from shlex import join
from typing import Any

from mote.optimize.search.explorer import Front, Point
from mote.ui.reporter.command import compile_command
from mote.ui.reporter.section import Section
from mote.ui.reporter.subject import Subject


def front(subject: Subject) -> dict[str, Any] | None:
    """The points of the front, those beside it, and the plan of the report."""
    if subject.front is None:
        return None
    compiled, explored = subject.compiled, subject.front
    return {
        "command": join(compile_command(compiled)),
        "name": compiled.name,
        "unit": explored.cost_name,
        "points": [_point(point, explored) for point in _all(explored)],
        "chosen": {
            "ram": compiled.plan.ram,
            "cost": compiled.cost,
            "flash": compiled.project.constants,
            "ram_limit": compiled.ram_limit,
            "flash_limit": compiled.settings.flash_limit,
            "cycle_limit": compiled.settings.cycle_limit,
        },
        "measured": bool(explored.measured),
    }


def _all(explored: Front) -> list[Point]:
    """Every point once, by rising RAM."""
    points = dict.fromkeys((*explored.points, *explored.dominated, *explored.little_flash))
    return sorted(points, key=lambda point: (point.ram, point.cost))


def _point(point: Point, explored: Front) -> dict[str, Any]:
    return {
        "name": point.name,
        "aliases": list(point.aliases),
        "ram": point.ram,
        "cost": point.cost,
        "flash": point.flash,
        "best": point in explored.points,
    }


SECTION = Section("front", "RAM, time, flash", each=front)
