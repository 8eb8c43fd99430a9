"""Functions of `import mote` about accelerators."""
