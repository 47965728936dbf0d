"""The documentation's table of mechanisms, written from the registry when the site is built.

``python -m dither.mechanisms.documentation`` prints it.
"""

from __future__ import annotations

import sys

from dither.mechanisms.mechanism import Mechanism
from dither.mechanisms.registry import mechanisms

HEAD = """# Mechanisms

Every mechanism is asked for by its name or as an object: `mechanism="smooth"`, `mechanism=dt.Smooth(beta=0.1)`. This
table is written from the registry of mechanisms; [choosing](../choosing.md) says when to use which.

| name | in Python | what it does | needs |
|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    return HEAD + "".join(f"{_line(name, made)}\n" for name, made in mechanisms().items())


def _line(name: str, made: type[Mechanism]) -> str:
    meaning = (made.__doc__ or "").strip().split("\n")[0].replace("``", "`").replace("|", "\\|")
    needs = " or ".join((need.__doc__ or "").strip().split("\n")[0].rstrip(".") for need in made.needs)
    refuses = "; may refuse" if made.may_refuse else ""
    return f"| `{name}` | `{_in_python(made)}` | {meaning} | {needs}{refuses} |"


def _in_python(made: type[Mechanism]) -> str:
    """``dt.Smooth`` where the class is a public name of the package, else where it is defined."""
    import dither  # noqa: PLC0415  (the package loads its public names when they are used)

    is_public = made.__name__ in dither.__all__ and getattr(dither, made.__name__) is made
    return f"dt.{made.__name__}" if is_public else f"{made.__module__}.{made.__name__}"


if __name__ == "__main__":
    sys.stdout.write(page())
