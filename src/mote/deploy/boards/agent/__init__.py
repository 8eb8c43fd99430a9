"""The agent on a board: requests, the device behind them, inferences."""
