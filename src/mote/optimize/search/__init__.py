"""Parallel evaluation for searches: runs one function many times in this process, in worker processes or on a cluster,
keeps a journal, and selects Pareto fronts. Independent of what is searched."""

from mote.optimize.search.front import front
from mote.optimize.search.journal import Journal, digest
from mote.optimize.search.runner import Runner, run, running

__all__ = ["Journal", "Runner", "digest", "front", "run", "running"]
