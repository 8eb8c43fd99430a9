"""The model and the target in a few numbers: RAM, flash, time, energy."""

from __future__ import annotations

from typing import Any

from mote.ui.reporter.section import Section
from mote.ui.reporter.subject import Subject


def overview(subject: Subject) -> dict[str, Any]:
    """Totals of an inference; None where they are not known."""
    compiled, profile, ran = subject.compiled, subject.profile, subject.ran
    return {
        "macs": compiled.macs,
        "layers": len(subject.layers),
        "arena": compiled.plan.arena,
        "bound": subject.memory.bound,
        "ram": ran.ram.total if ran else compiled.plan.ram,
        "stack": ran.ram.stack if ran else None,
        "constants": compiled.project.constants,
        "code": ran.flash.code if ran else None,
        "instructions": ran.instructions if ran else None,
        "cycles": profile.cycles if profile else None,
        "estimate": compiled.cost,
        "seconds": profile.seconds if profile else None,
        "microjoules": profile.energy.microjoules if profile and profile.energy else None,
        "metered": profile.measured.microjoules if profile and profile.measured else None,
        "reason": subject.reason,
        "tools": [tool for tool in (ran.compiler, ran.emulator) if tool] if ran else [],
        "warnings": list(compiled.warnings),
    }


SECTION = Section("overview", "Overview", each=overview)
