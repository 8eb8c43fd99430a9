"""New words from five clips: what docs/improve/on-device-training.md states of the bundled network."""

from __future__ import annotations

import few_shot


def test_three_new_words_are_learned_in_two_kilobytes() -> None:
    """In twelve draws at once: 90% of clips that were not learned, by class means of the last depthwise layer."""
    *_, row = few_shot.rows(few_shot.bundled(), 12, few_shot.WAYS[1:2])
    assert (row.features, row.learner) == ("last depthwise, max", "prototype, cosine")
    assert row.shares.mean() >= 0.9 and row.bytes < 2048


def test_clips_that_are_tried_were_not_learned() -> None:
    clips = few_shot.bundled()
    for learned, tried in few_shot.draws(clips, 5):
        for own, others in zip(learned, tried, strict=True):
            assert len(own) == few_shot.SHOTS and not set(own) & set(others)
            assert len({int(word) for word in clips.words[own + others]}) == 1
