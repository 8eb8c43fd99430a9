"""Searches: many evaluations of one function, in this process, in others, or on a cluster; what was found is kept, and
the best of it chosen. Nothing here knows what is searched for."""

from mote.search.front import front
from mote.search.journal import Journal, digest
from mote.search.runner import Runner, run, running

__all__ = ["Journal", "Runner", "digest", "front", "run", "running"]
