"""Packagers: the files that make generated C a project of a build system or an ecosystem, one module for each."""
