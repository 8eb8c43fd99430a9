"""Deployment of images: signing, and over-the-air updates."""
