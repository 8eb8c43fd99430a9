"""`mote report`: a model compiled, measured and shown in one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from mote.compiler.line import compile
from mote.compiler.settings import Settings, make_settings, settings_and_examples
from mote.data.dataset import dataset
from mote.errors import explaining
from mote.evaluation.evaluator import evaluate
from mote.files import write_file
from mote.progress import Say, silent
from mote.reporter.html import page, report_data
from mote.reporter.subject import Subject, Subjects, measured
from mote.search.explorer import explore

DOCTYPE = b"<!DOCTYPE html>"
"""The beginning of a report, by which a file is recognised as one that may be replaced."""


@dataclass(frozen=True)
class Report:
    """The report of a model; a notebook shows it inline."""

    data: dict[str, Any]
    """Everything the page shows, as JSON types."""

    def __repr__(self) -> str:
        targets = ", ".join(target["name"] for target in self.data["targets"])
        return f"<Report of {self.data['model']!r} on {targets}: {len(self.html):,} bytes of HTML>"

    @cached_property
    def html(self) -> str:
        """The page: one file without references to others."""
        return page(self.data)

    def json(self) -> dict[str, Any]:
        """Everything the page shows, as JSON types."""
        return self.data

    def write(self, path: str | Path) -> None:
        """Writes the page, in place of an earlier report but of no other file."""
        write_file(str(path), self.html.encode(), DOCTYPE)

    def _repr_html_(self) -> str:
        return f'<iframe title="Mote report" srcdoc="{escape(self.html)}" width="100%" height="800"></iframe>'


@explaining()
def report(
    model: Any,
    settings: Any = None,
    *,
    example_inputs: Any = None,
    targets: Sequence[Any] = (),
    data: Any = None,
    against: Any = None,
    say: Say = silent,
    **options: Any,
) -> Report:
    """The report of a model: options are the fields of Settings, as for `mote.compile`; `targets` are further ones to
    show beside the first. `data`: labelled samples for the accuracy; `against`: a model to compare with; `say`: a
    callback for progress."""
    settings, example_inputs = settings_and_examples(settings, example_inputs)
    chosen = [_settings(settings, options, target) for target in (None, *targets)]
    subjects = [_subject(model, each, example_inputs, say) for each in chosen]
    given = None if data is None else dataset(data, labelled=True)
    return Report(
        report_data(
            Subjects(
                tuple(subjects),
                given,
                None if given is None else evaluate(subjects[0].compiled, given, samples=0, say=say),
                None if against is None else _subject(against, chosen[0], None, say),
            )
        )
    )


def _settings(settings: Settings | None, options: dict[str, Any], target: Any) -> Settings:
    if settings is None:
        return make_settings(**(options | ({} if target is None else {"target": target})))
    return settings if target is None else replace(settings, target=make_settings(target).target)


def _subject(model: Any, settings: Settings, example_inputs: Any, say: Say) -> Subject:
    say(f"compiling for {settings.target.name}")
    compiled = compile(model, settings, example_inputs=example_inputs, say=say)
    front = explore(model, settings, example_inputs=example_inputs, measure=False, say=say)
    return measured(compiled, front, say)
