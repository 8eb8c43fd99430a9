"""README.md of a package: what the library is, how to use it in its ecosystem, and what the example prints."""

from __future__ import annotations

from mote.compiler.package.description import LICENCE_FILE, Package


def readme(package: Package, use: str) -> str:
    """The text of a package's README; `use`: Markdown on how to build the library and the example."""
    about = package.metadata
    headers = " and ".join(f"`{header}`" for header in package.headers)
    author = "" if about.author == type(about).author else f" by {about.author}"
    lines = "\n".join(package.example.lines)
    return f"""\
# {package.name}

{package.summary}. Version {about.version}{author}.

{use.strip()}

{headers} {"is" if len(package.headers) == 1 else "are"} the manual of the functions. {package.measured}

## Example

The example runs the model on a few inputs and prints over the serial port, by the reference:

```
{lines}
```

## Licence

Generated code is under Apache-2.0 ({LICENCE_FILE}); the weights are under the licence of the model.
"""
