"""The command stream of Ethos-U: decoded, checked to touch only its own memory, and executed by a functional model."""
