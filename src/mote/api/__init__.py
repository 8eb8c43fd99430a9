"""What `import mote` gives: compile, run, verify, explore and shrink a model."""
