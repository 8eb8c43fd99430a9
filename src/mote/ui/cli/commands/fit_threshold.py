"""`mote fit-threshold`: a threshold on a model's scores, learned from data, as a step of post-processing."""

from __future__ import annotations

import argparse

from mote.bench.evaluation.threshold import FALSE_ALARMS, PERCENT, ThresholdFit, fit_threshold
from mote.bench.metrics.thresholds import FITTED
from mote.ui.cli.common import add_number, bold, named, print_json, progress, show, table
from mote.ui.cli.options.compiling import add_compile_options, settings
from mote.ui.cli.options.sampling import add_data, data_of


def add(p: argparse.ArgumentParser) -> None:
    add_compile_options(p, omitted=("preprocess",))
    add_data(p, required=True)
    rule = p.add_mutually_exclusive_group()
    rule.add_argument("--metric", choices=tuple(FITTED), help="of labelled samples: maximize this (default there: f1)")
    rule.add_argument(
        "--percentile",
        type=float,
        metavar="P",
        help=f"of normal samples: percentage of them that is not above the threshold (default there: {PERCENT:g})",
    )
    rule.add_argument(
        "--false-positives",
        type=float,
        metavar="SHARE",
        help="of labelled samples: fewest misses with at most this share of false positives",
    )
    rule.add_argument(
        "--false-alarms",
        type=float,
        metavar="N",
        help=f"of a recording: fewest misses with at most N false alarms an hour (default there: {FALSE_ALARMS:g})",
    )
    add_number(p, "--margin", 0.0, "raise the threshold by this much", kind=float, metavar="PERCENT")
    p.add_argument("--event", type=int, metavar="CLASS", help="index of the class to detect (default: the only one)")


def run(arguments: argparse.Namespace) -> int:
    with progress("reading the data") as say:
        fit = fit_threshold(
            arguments.model,
            data_of(arguments),
            settings(arguments),
            **named(arguments, "metric", "percentile", "false_positives", "false_alarms", "margin", "event"),
            say=say,
        )
    print_json(fit.json()) if arguments.json else print_text(fit)
    return 0


def print_text(fit: ThresholdFit) -> None:
    show(bold(f"{fit.model} on {fit.data}: threshold {fit.threshold!r}"))
    rows = [
        ("criterion", fit.criterion),
        ("scores", f"{fit.samples:,}, from {fit.lowest:.6g} to {fit.highest:.6g}"),
        *fit.costs.items(),
    ]
    print(table(("", "on this data"), rows, left=2))
    show(f'compile it with --postprocess "{fit.postprocess}"')
