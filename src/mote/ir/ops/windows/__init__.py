"""Operators with sliding windows over images and volumes: convolutions, pooling, resizing, sampling."""
