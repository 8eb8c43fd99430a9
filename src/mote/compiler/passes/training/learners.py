"""Learning without gradients: a frozen model computes features, a learner scores them and learns samples with a
label."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.base.errors import MoteError
from mote.base.text import did_you_mean
from mote.compiler.passes.training.label import label, labelled
from mote.compiler.passes.training.learner_features import score, vector
from mote.compiler.passes.training.learner_kinds import KINDS, LearnerMethod, all_settings
from mote.compiler.passes.training.spec import WHERE, Learner
from mote.compiler.passes.training.tape import Tape
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.types import DType, StateRole
from mote.ir.ops.control.state import Assign

ONE = "one-class"
REMEDY = "change the settings of the learner, or let it learn from another layer by features="


def with_learner(graph: Graph, learner: Learner) -> Graph:
    """The layers of a model that compute features, followed by a learner. The only output is its scores, one per class,
    computed before the sample is learned; class names are the model's, unless the number of classes is stated. If the
    state of role LABEL is not negative, the sample is then learned, and the label is reset to -1: inferences without a
    label take no time for learning. The state of role COUNT counts the learned samples of that class. `graph` must come
    from a front end."""
    kind = KINDS.get(learner.kind)
    if kind is None:
        remedy = f"{did_you_mean(learner.kind, KINDS)}one of {', '.join(KINDS)}"
        raise MoteError(f"there is no learner '{learner.kind}'", where=WHERE, remedy=remedy)
    settings = all_settings(learner.kind, learner.options)
    t = Tape(graph, learner.kind, REMEDY)
    if learner.kind == ONE:
        _check_one(learner)
        x = score(t, graph, learner.features)
    else:
        x = vector(t, graph, learner.features, learner.pool, kind.takes, kind.longest)
    classes = 1 if learner.kind == ONE else learner.classes or _classes(graph)
    labels = () if learner.kind == ONE or learner.classes else graph.tensors[graph.outputs[0]].labels
    return _learning(t, x, kind.make(t.tensors[x], classes, settings), labels)


def _learning(t: Tape, x: int, method: LearnerMethod, labels: tuple[str, ...]) -> Graph:
    """The graph of a learner on the features `x`; `labels`: names of its classes, if any."""
    states = {name: t.tensor(name, s.shape, DType(s.dtype.name)) for name, s in method.states.items()}
    known = [states[name] for name in method.read]
    scores = t.one(method.scores, [x, *known], "scores", dtype=method.result, **method.judged)
    always = t.taken()
    sample_label, count = label(t), t.tensor("seen", (1,), DType.INT32)
    inputs = [x, sample_label, *states.values()]
    seen, *after = t.add(method.update, inputs, "update", dtype=DType.INT32, **method.taught)
    for (name, before), new in zip(states.items(), after, strict=True):
        t.state(before, new, method.states[name], StateRole.LEARNED)
    t.state(count, t.one(Assign, [count, seen], "seen"), np.zeros(1, np.int32), StateRole.COUNT)
    learned = labelled(t, sample_label)
    graph = t.finish([*always, *learned.condition], learned.back, [learned.state])
    named = replace(graph.tensors[scores], labels=labels)
    return replace(graph, outputs=(scores,)).with_ops(graph.ops, [named]).verify()


def _check_one(learner: Learner) -> None:
    """Refuses settings that mean nothing for a learner of one class from one score."""
    for key, stated in (("classes", learner.classes not in (0, 1)), ("pool", bool(learner.pool))):
        if stated:
            raise MoteError(f"{ONE} has one class and one score: it takes no `{key}`", where=WHERE, remedy="omit it")


def _classes(graph: Graph) -> int:
    """The number of classes of a model's output."""
    output: Tensor = graph.tensors[graph.outputs[0]]
    given_back = output.size in (graph.tensors[i].size for i in graph.inputs)
    if output.size == output.channels > 1 and not given_back:
        return output.size
    raise MoteError("the model does not say how many classes there are", where=WHERE, remedy="give it: classes=3")
