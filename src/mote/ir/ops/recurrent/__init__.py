"""Recurrent layers: RNN, GRU, LSTM, SVDF."""
