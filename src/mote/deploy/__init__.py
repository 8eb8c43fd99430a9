"""Boards and fleets: firmware, agents, signatures, updates over the air."""
