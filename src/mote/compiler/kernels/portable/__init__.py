"""The kernels in portable C, which compute every operator on any core, by families of operators."""
