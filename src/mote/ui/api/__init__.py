"""The functions of `import mote`: compile, run, verify, explore and shrink a model."""
