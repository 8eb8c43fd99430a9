"""`mote quantize --max-accuracy-drop`: options and output of the mixed-precision search."""

from __future__ import annotations

import argparse
from itertools import groupby

from mote.base.errors import MoteError
from mote.base.text import printable
from mote.bench.pictures.text import LETTERS
from mote.compiler.settings import TABLE
from mote.optimize.compress.mixed_precision.result import AXES, Guarded, Mixed, MixedPoint
from mote.optimize.compress.mixed_precision.search import EVALUATIONS, PRECISIONS, MixingPlan, mix
from mote.optimize.compress.quantize.pipeline import Methods
from mote.ui.cli.common import add_number, bold, fields_of, green, named, print_json, progress, show, table
from mote.ui.cli.options.drawing import add_picture, write_picture
from mote.ui.cli.options.model import add_row, reading
from mote.ui.cli.options.sampling import data_of
from mote.ui.cli.options.tools import add_journal, add_tools, add_workers
from mote.ui.cli.table import drop, fold, shorten


def add_mixing(parser: argparse.ArgumentParser) -> None:
    """The options of the search, as a group of their own."""
    group = parser.add_argument_group(
        "mixed precision", "the cheapest precision of each layer within the allowed accuracy drop"
    )
    group.add_argument(
        "--max-accuracy-drop",
        metavar="PERCENT",
        help="search for mixed precision: the accuracy that may be lost against the float model on the"
        " labelled data of --test, such as 1%% (of all samples; relative for rmse and mae)",
    )
    group.add_argument("--test", metavar="DATA", help="labelled samples by which precisions are chosen")
    group.add_argument("--validate", metavar="DATA", help="other labelled samples, to validate the choice")
    group.add_argument(
        "--metric",
        default="",
        metavar="NAME",
        help="accuracy metric: top1, topK, auc, rmse, mae (default: by the labels)",
    )
    target = "target for which instructions, flash and RAM are counted (default: host)"
    add_row(group, TABLE["target"], "-t", default="host", help=target)
    add_row(group, TABLE["trust_target"])
    group.add_argument(
        "--precisions",
        default=",".join(PRECISIONS),
        metavar="NAMES",
        help=f"precisions to choose from (default: {','.join(PRECISIONS)})",
    )
    group.add_argument("--cheapest", choices=AXES, default=AXES[0], help="what to minimise (default: instructions)")
    planned = "how models are planned (default: size to minimise flash, the least RAM to minimise RAM, else balanced)"
    add_row(group, TABLE["optimize"], default=None, help=planned)
    add_number(
        group, "--evaluations", EVALUATIONS, "evaluate at most this many models, not counting probes of single layers"
    )
    group.add_argument(
        "--measure",
        action=argparse.BooleanOptionalAction,
        help="run the best models on the emulated target (default: if the tools are installed)",
    )
    add_journal(group)
    add_workers(group)
    add_tools(group)
    add_picture(group, "accuracy over instructions, flash and RAM")


def is_asked_for(arguments: argparse.Namespace) -> bool:
    """Whether precisions are to be searched for; options of the search alone are refused."""
    if arguments.max_accuracy_drop is not None:
        return True
    for option in ("test", "validate", "journal", "scheduler", "workers", "picture"):
        if getattr(arguments, option):
            raise MoteError(
                "is for the search for precisions only",
                where=f"option --{option}",
                remedy="say with --max-accuracy-drop what may be lost",
            )
    return False


def run_mixing(arguments: argparse.Namespace, methods: Methods) -> int:
    for option in ("data", "test"):
        if not getattr(arguments, option):
            raise MoteError(
                "is missing",
                where=f"option --{option}",
                remedy="a search takes samples to calibrate with (--data) and samples with labels (--test)",
            )
    precisions = [name.strip() for name in arguments.precisions.split(",")]
    options = {} if arguments.optimize is None else {"optimize": arguments.optimize}
    with progress("searching") as say:
        mixed = mix(
            arguments.model,
            data_of(arguments),
            data_of(arguments, arguments.test, labelled=True),
            max_accuracy_drop=arguments.max_accuracy_drop,
            validate=data_of(arguments, arguments.validate, labelled=True) if arguments.validate else None,
            **fields_of(MixingPlan, arguments) | {"precisions": precisions, "methods": methods},
            say=say,
            **named(arguments, "target", "trust_target"),
            **reading(arguments),
            edges=arguments.edges,
            **options,
        )
    mixed.quantized.write(arguments.output)
    write_picture(arguments.picture, mixed.svg)
    print_json(mixed.json() | {"file": arguments.output}) if arguments.json else print_text(mixed, arguments.output)
    return 0


def print_text(mixed: Mixed, output: str) -> None:
    show(bold(f"{mixed.model} for {mixed.target}: the fewest {_axis(mixed)}, at most {mixed.allowed:.2%} lost"))
    for warning in mixed.warnings:
        show(f"warning: {printable(warning)}")
    show()
    show(bold("sensitivity: decibels of signal to noise at the output with this layer alone quantized, and the metric"))
    head, rows = _sensitivities(mixed)
    fit = (drop("op"), *(drop(name) for name in reversed(head[4:]) if name.endswith(" dB")), shorten("layer", 12))
    print(table(head, rows, left=4, fit=fit))
    show()
    by = f"measured: {mixed.tools}" if mixed.tools else f"estimates of the planner, {mixed.unit}"
    show(bold(f"the front ({by})"))
    print(table(*_front(mixed), left=2, fit=(drop("keeps"), fold("precisions"))))
    show()
    for what, guarded in (("guard", mixed.test), ("validation", mixed.validation)):
        if guarded is not None:
            show(f"{what}: {_told(guarded, mixed.metric)}")
    show("The guard is on the data given; what other data loses, --validate tells.")
    show(green(f"written: {output}, {len(mixed.quantized.data):,} bytes, after {mixed.evaluations} models"))


def _axis(mixed: Mixed) -> str:
    return {"instructions": "instructions", "flash": "bytes of flash", "ram": "bytes of RAM"}[mixed.cheapest]


def _told(guarded: Guarded, metric: str) -> str:
    context = f" ({guarded.context})" if guarded.context else ""
    return (
        f"{metric} {guarded.value:.4g}{context} against {guarded.reference:.4g} of the float model,"
        f" {guarded.lost:.2%} lost, on {guarded.samples:,} samples of {printable(guarded.where)}"
    )


def _sensitivities(mixed: Mixed) -> tuple[list[str], list[list[object]]]:
    names = list(dict.fromkeys(s.precision for layer in mixed.layers for s in layer.sensitivities))
    head = ["#", "layer", "op", "chosen", *(f"{name} {what}" for name in names for what in ("dB", mixed.metric))]
    rows = []
    for layer in mixed.layers:
        by_name = {s.precision: s for s in layer.sensitivities}
        cells: list[object] = []
        for name in names:
            s = by_name.get(name)
            cells += [None, None] if s is None else ["exact" if s.noise is None else f"{s.noise:.1f}", f"{s.value:.4g}"]
        rows.append([layer.index, layer.short, layer.op, layer.precision, *cells])
    return head, rows


def _front(mixed: Mixed) -> tuple[list[str], list[list[object]]]:
    head = ["", "precisions", mixed.metric, "lost", "keeps", *AXES]
    return head, [
        [
            "->" if p == mixed.chosen else letter,
            told_precisions(p),
            f"{p.value:.4g}",
            f"{p.lost:.2%}",
            "yes" if p.kept else "no",
            *(p.cost(axis) for axis in AXES),
        ]
        for letter, p in zip(LETTERS, mixed.points, strict=False)
    ]


def told_precisions(point: MixedPoint) -> str:
    """The precisions of a point in the order of layers, with repetitions counted: 2 int16, 5 int8."""
    runs = [f"{len(list(same))} {name}" for name, same in groupby(point.precisions)]
    return f"all {point.name}" if len(runs) == 1 else ", ".join(runs)
