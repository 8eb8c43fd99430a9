"""Parallel evaluation with a journal, and Pareto fronts. `mote.search(data, test=...)` itself searches for models.

from mote import search

with search.running(shared, workers=4, journal="trials.jsonl") as runner:
    costs = dict(runner.run(cost, candidates))
best = search.front(costs, costs.__getitem__)
"""

from mote.optimize.search import Journal, Runner, digest, front, run, running

__all__ = ["Journal", "Runner", "digest", "front", "run", "running"]
