"""The agent: C for a device that runs, measures and shows a model at the request of a host."""
