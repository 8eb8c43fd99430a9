"""Graph -> Plan: decides memory, order and kernels, as data."""
