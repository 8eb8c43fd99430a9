"""A core whose flash is slow."""

SLOW = """\
extends = "cortex-m4"
[reads]
wait_states = 5
read_bytes = 8
code_lines = 4
data_lines = 8
"""
