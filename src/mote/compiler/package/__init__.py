"""Packagers: the files that turn generated C into a project of a build system or ecosystem, one module for each."""
