"""Everything that ever failed, and some mutants: what `python -m tests.fuzz` tries without end."""

from __future__ import annotations

import re
from random import Random

import pytest

from mote.base.errors import MoteError
from mote.compiler import line
from tests.fuzz import corpus, onnx_mutants
from tests.fuzz.bases import base
from tests.fuzz.campaign import Campaign
from tests.fuzz.document import decode, encode
from tests.fuzz.mutants import MODES, Mutant, mutant
from tests.fuzz.trial import EVERY_RUN, Outcome, Verdict, attempt
from tests.helpers.support import needs_litert, soaked

pytestmark = needs_litert
CAMPAIGNS = ((1, 16), (0, 240))
"""A seed and a number of mutants: those of `make test`, and those of `make test-all`."""
ONNX_SLICE = 80


def tried(name: str, mode: str) -> Outcome:
    """What becomes of a file of the corpus, with all that can be done with it."""
    data = (corpus.FOLDER / f"{name}.tflite").read_bytes()
    return attempt(Mutant(0, EVERY_RUN, name, (), mode, "host", data))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", sorted(corpus.EXPECTED))
def test_what_once_failed(name: str) -> None:
    """What is refused is refused in every mode, in the plain one for the known reason; what is not gives what LiteRT
    gives."""
    reason = corpus.EXPECTED[name]
    data = (corpus.FOLDER / f"{name}.tflite").read_bytes()
    for mode, options in MODES.items():
        try:
            line.compile(data, **options)
            assert not reason
        except MoteError as error:
            assert mode != "balanced" or (reason and re.search(reason, str(error)))
    if not reason:
        assert tried(name, "balanced").verdict in (Verdict.RUN, Verdict.RUN_ALONE)


def test_the_corpus_has_a_line_for_every_file() -> None:
    assert {path.stem for path in corpus.FOLDER.glob("*.tflite")} == corpus.EXPECTED.keys()


def test_a_document_is_written_as_it_was_read() -> None:
    for number in range(20):
        model = decode(base(Random(number))[1])
        assert decode(encode(model)) == model


def test_a_mutant_is_the_same_every_time() -> None:
    assert mutant(5, 17) == mutant(5, 17) != mutant(5, 18)


@pytest.mark.parametrize(("seed", "count"), soaked(CAMPAIGNS, CAMPAIGNS[:1]))
def test_a_short_campaign(seed: int, count: int) -> None:
    campaign = Campaign(seed=seed)
    campaign.round(batch=count)
    assert not campaign.findings, campaign.summary()
    assert campaign.counts[Verdict.REFUSED] > count // 4 and campaign.counts[Verdict.COMPILED] > count // 5
    assert campaign.counts[Verdict.COMPUTED] and campaign.counts[Verdict.RUN]


def test_a_short_campaign_of_onnx() -> None:
    campaign = Campaign(seed=0, format="onnx")
    campaign.round(batch=ONNX_SLICE)
    assert not campaign.findings, campaign.summary()
    assert campaign.counts[Verdict.REFUSED] > ONNX_SLICE // 4 and campaign.counts[Verdict.COMPILED] > ONNX_SLICE // 10
    assert campaign.counts[Verdict.COMPUTED]


def test_a_mutant_of_onnx_is_the_same_every_time() -> None:
    assert onnx_mutants.mutant(5, 17) == onnx_mutants.mutant(5, 17) != onnx_mutants.mutant(5, 18)


def test_a_bug_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(*_: object) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr(line, "generate", stumble)
    campaign = Campaign(seed=0)
    campaign.round(batch=8)
    assert list(campaign.findings) == ["bug: IndexError in line.py _emitted"]
