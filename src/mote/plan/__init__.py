"""Graph -> Plan: every decision about memory, order and kernels, as data."""
