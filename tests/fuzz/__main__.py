"""Try mutants of models, or of all else that Mote reads: python -m tests.fuzz --minutes 30.

What was found is printed, and goes on from where it was left.

python -m tests.fuzz --only 123 tries one mutant again and writes its file.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import monotonic

from ai_edge_litert import interpreter  # noqa: F401 (so that no process has to load it by itself)

from tests.fuzz.campaign import FORMATS, Campaign, trial
from tests.fuzz.trial import Verdict


def main() -> int:
    p = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    p.add_argument("--format", choices=FORMATS, default="tflite", help="of what is damaged")
    p.add_argument("--seed", type=int, default=0, help="other mutants")
    p.add_argument("--count", type=int, default=1_000_000, help="how many mutants there are")
    p.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    p.add_argument("--jobs", type=int, default=1, help="processes at a time")
    p.add_argument("--folder", type=Path, default=Path("build/fuzz"), help="where it keeps how far it has come")
    p.add_argument("--only", type=int, metavar="NUMBER", help="try one mutant, and write its file")
    options = p.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.only is not None:
        return _again(options.format, options.seed, options.only, options.folder)
    state = options.folder / f"{options.format}-seed-{options.seed}.json"
    campaign = Campaign.load(state) if state.exists() else Campaign(options.seed, format=options.format)
    end = monotonic() + 60 * options.minutes
    while campaign.next < options.count and monotonic() < end:
        campaign.round(options.jobs)
        campaign.save(state)
    print(campaign.summary())
    return 1 if campaign.findings else 0


def _again(format: str, seed: int, number: int, folder: Path) -> int:
    damaged, attempt = trial(format, seed, number)
    path = folder / f"{seed}-{number}{damaged.suffix}"
    path.write_bytes(damaged.data)
    outcome = attempt()
    print(f"{damaged}\n  {path}\n  {outcome.verdict}: {outcome.detail}")
    return int(outcome.verdict is Verdict.FINDING)


if __name__ == "__main__":
    sys.exit(main())
