"""The operators, one file for each family. Every file here is loaded: adding an operator is adding a file."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
