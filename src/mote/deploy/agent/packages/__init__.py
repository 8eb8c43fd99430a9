"""Projects of an agent for build systems and ecosystems: the agent, what it runs, and a port (`ports/`) of the line and
the counters."""
