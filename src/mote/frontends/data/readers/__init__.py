"""Readers of files: arrays, tables, images, sounds, folders of them."""
