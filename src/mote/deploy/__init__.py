"""Deployment to boards and fleets: firmware, agents, signatures, over-the-air updates."""
