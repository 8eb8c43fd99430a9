"""`mote report`: a model compiled, measured and shown in one HTML file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Unpack

from mote.base.documents import DocumentError, parse_json
from mote.base.errors import MoteError, explaining
from mote.base.files import read_file, write_file
from mote.base.progress import Say, silent
from mote.base.system import thread_pool
from mote.bench.evaluation.evaluator import evaluate
from mote.bench.measure.energy.capture import Capture
from mote.compiler.given import CompileOptions
from mote.compiler.kept import compile
from mote.compiler.settings import NO_STEPS, Settings, make_settings, settings_and_examples
from mote.frontends.data.dataset import dataset
from mote.optimize.search.explorer import POINTS, explore_around
from mote.ui.reporter.html import page, report_data, target_data
from mote.ui.reporter.sections import overview
from mote.ui.reporter.subject import Subject, Subjects, measured, metered

MOST_BYTES = 1 << 26
"""The size of the largest report that is read."""
MOST_NAME = 1000
"""Characters of a name in an earlier report."""
WORST = 12
"""The most samples that are shown."""
MANY_STEPS, FEW_POINTS = 600, 2
"""Steps of a plan above which the front has only so many budgets between its ends: each takes seconds to plan for."""
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
    capture: Capture | str | Path | None = None,
    volts: float | None = None,
    say: Say = silent,
    **options: Unpack[CompileOptions],
) -> Report:
    """The report of a model: options are the fields of Settings, as for `mote.compile`; `targets` are further ones to
    show beside the first. `data`: labelled samples for the accuracy; `against`: a model to compare with, or an earlier
    report (an object or a file); `capture`: a meter's capture of the model on the first target, at so many `volts`
    where the meter measures none; `say`: a callback for progress."""
    settings, example_inputs = settings_and_examples(settings, example_inputs)
    chosen = [_settings(settings, options, target) for target in (None, *targets)]
    earlier = against.data if isinstance(against, Report) else read_report(against) if _is_page(against) else None
    other = None if earlier else against
    compared = None if against is None else _earlier(earlier, chosen[0]) if earlier else _other(other, chosen[0], say)
    given = None if data is None else dataset(data, labelled=True)
    subjects = [_subject(model, each, example_inputs, say) for each in chosen]
    if capture is not None:
        subjects[0] = metered(subjects[0], capture, volts)
    if given is None:
        return Report(report_data(Subjects(tuple(subjects), against=compared)))
    evaluation = evaluate(subjects[0].compiled, given, samples=0, against=other, worst=WORST, say=say)
    return Report(report_data(Subjects(tuple(subjects), given, evaluation, compared)))


def read_report(path: str | Path) -> dict[str, Any]:
    """The data of a report that was written to a file."""
    text = read_file(path, MOST_BYTES).decode(errors="replace")
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    try:
        data: dict[str, Any] = parse_json(match[1] if match else "")
        if not (_is_text(data["model"]) and _is_text(data["mote"]) and data["targets"]):
            raise ValueError
        if not all(_is_earlier(target) for target in data["targets"]):
            raise ValueError
    except (ValueError, LookupError, TypeError) as error:
        why = f" ({error})" if isinstance(error, DocumentError) else ""
        raise MoteError(f"is no report of Mote{why}", where=str(path), remedy="name a file of `mote report`") from None
    return data


def _is_earlier(target: Any) -> bool:
    """Whether a target of an earlier report has all that it is compared by."""
    ram = target["each"]["overview"]["ram"]
    return _is_text(target["name"]) and isinstance(ram, int | float) and ram >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable() and len(value) <= MOST_NAME


def _is_page(model: Any) -> bool:
    return isinstance(model, str | Path) and Path(model).suffix.lower() in (".html", ".htm")


def _earlier(data: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """An earlier report on the same target."""
    title = f"{data['model']} by Mote {data['mote']}"
    for target in data["targets"]:
        if target["name"] == settings.target.name:
            return {"title": title, "target": target | {"each": {"overview": target["each"]["overview"]}}}
    names = ", ".join(target["name"] for target in data["targets"])
    raise MoteError(
        f"the earlier report is of {names}, not of {settings.target.name}",
        where="option against",
        remedy="compare reports of the same target",
    )


def _other(model: Any, settings: Settings, say: Say) -> dict[str, Any]:
    """Another model on the same target."""
    compiled = compile(model, replace(settings, name=""), say=say)
    subject = measured(compiled)
    return {"title": Path(compiled.path).name, "target": target_data(subject, [overview.SECTION])}


def _settings(settings: Settings | None, options: Mapping[str, Any], target: Any) -> Settings:
    if settings is None:
        settings = make_settings(**({**options} | ({} if target is None else {"target": target})))
    elif target is not None:
        settings = replace(settings, target=make_settings(target).target)
    return replace(settings, preprocess=NO_STEPS)


def _subject(model: Any, settings: Settings, example_inputs: Any, say: Say) -> Subject:
    say(f"compiling for {settings.target.name}")
    compiled = compile(model, settings, example_inputs=example_inputs, say=say)
    with thread_pool(1) as beside:  # compilers and emulators are other processes
        made = beside.submit(measured, compiled)
        points = POINTS if len(compiled.plan.steps) <= MANY_STEPS else FEW_POINTS
        front = explore_around(compiled, settings, points, say)
        say(f"measuring on {settings.target.name}")
        return replace(made.result(), front=front)
