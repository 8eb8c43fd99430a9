"""Documents of every kind, boards that lie and damaged states: read, or refused with a reason, in little time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from mote.base.documents import DocumentError, parse_json, parse_toml
from tests.fuzz.campaign import DOCUMENTS, Campaign
from tests.fuzz.config_kinds import KINDS
from tests.fuzz.documents import OTHERS, DocumentMutant, attempt, mutant
from tests.fuzz.hostile import Raw, damage, json_copy, toml_document, written
from tests.fuzz.trial import Verdict
from tests.helpers.support import soaked

CAMPAIGNS = ((1, 160), (0, 2000))
"""A seed and a number of mutants: those of `make test`, and those of `make test-all`."""
REFUSED_AS_THEY_ARE = {"record of firmware", "boards"}
"""Sound documents that not every machine can follow: it has no such tool, or several boards are named."""
Change = Callable[[dict[str, Any]], object]
ONCE_FAILED: Sequence[tuple[str, Change, str]] = (
    ("boards", lambda d: d["boards"]["desk"]["flash"].update(tool=[]), "'tool' must be one of"),
    ("boards", lambda d: d["boards"]["desk"].update(log=Raw("9" * 5000)), "has an integer of 5,000 digits"),
    ("boards", lambda d: d["boards"].update({"x" * 20_000: {}}), "is no name"),
    ("target", lambda d: d.update(features=["x" * 20_000]), "unknown feature"),
    ("target", lambda d: d.update(extends="x" * 20_000), "unknown target"),
    ("pins", lambda d: d.update(ram=Raw("[" * 3000)), "nested too deeply"),
    ("manifest", lambda d: d["limits"].update(taps="x"), "is no manifest of a runtime"),
    ("manifest", lambda d: d["kernels"][0].update(headers="x"), "is no manifest of a runtime"),
    ("journal", lambda d: d["result"].update(code="\x7f", arena="x"), "holds a result that no search writes"),
    ("report", lambda d: d.update(targets=3), "is no report of Mote"),
    ("report", lambda d: d.update(targets=[*d["targets"], {"name": "x"}]), "is no report of Mote"),
    ("report", lambda d: d.update(model=["x"]), "is no report of Mote"),
)
"""Documents that led to an internal error or an endless message, and the reason for which they are refused."""


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - REFUSED_AS_THEY_ARE))
def test_sound_documents_are_read(kind: str) -> None:
    known = KINDS[kind]
    document = known.document()
    text = toml_document(document) if known.toml else written(document, toml=False)
    parsed = parse_toml(text.encode()) if known.toml else parse_json(text)
    assert parsed == document
    outcome = attempt(DocumentMutant(0, 0, kind, (), known.wrap(text.encode())))
    assert outcome.verdict is Verdict.READ, outcome.detail


@pytest.mark.parametrize(("kind", "change", "reason"), ONCE_FAILED)
def test_what_once_failed(kind: str, change: Change, reason: str) -> None:
    known = KINDS[kind]
    document = known.document()
    change(document)
    text = toml_document(document) if known.toml else written(document, toml=False)
    outcome = attempt(DocumentMutant(0, 0, kind, (), known.wrap(text.encode())))
    assert outcome.verdict is Verdict.REFUSED
    assert reason in outcome.detail
    assert len(outcome.detail) < 4000


@pytest.mark.parametrize(("seed", "count"), soaked(CAMPAIGNS, CAMPAIGNS[:1]))
def test_a_short_campaign_of_documents(seed: int, count: int) -> None:
    campaign = Campaign(seed=seed, format=DOCUMENTS)
    campaign.round(batch=count)
    assert not campaign.findings, campaign.summary()
    assert campaign.counts[Verdict.REFUSED] > count // 3 and campaign.counts[Verdict.READ] > count // 10


def test_a_mutant_of_a_document_is_the_same_every_time() -> None:
    assert mutant(5, 17) == mutant(5, 17) != mutant(5, 18)
    kinds = Counter(mutant(3, number).kind for number in range(600))
    assert kinds.keys() == KINDS.keys() | OTHERS.keys()


def test_damage_is_seen_by_the_parsers() -> None:
    """Documents stay well-formed unless by the limits of Mote, or by what JSON has and TOML has not."""
    rng, refused = Random(1), 0
    for number in range(200):
        toml = number % 2 == 0
        document = json_copy({"a": {"b": [1, 2.5, "x"], "c": True}, "d": [{"e": "f"}, {"g": -3}]})
        damage(rng, document, toml)
        text = toml_document(document) if toml else written(document, toml=False)
        try:
            parse_toml(text.encode(errors="surrogatepass")) if toml else parse_json(text)
        except DocumentError:
            refused += 1
    assert 5 < refused < 80
