"""Agent projects for build systems and ecosystems: the agent, its model or runtime, and a port (`ports/`) with
transport and counters."""
