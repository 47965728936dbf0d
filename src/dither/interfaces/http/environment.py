"""The environment of processes that open sources: without the secrets that are the server's own."""

from __future__ import annotations

import os

_SECRETS = ("PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE", "DITHER_TOKEN")
"""Variables of the server's that they do not have: a source names its password as ``${DITHER_SOURCE_...}``."""


def source_environment() -> dict[str, str]:
    """The server's without the passwords of its ledger and without the user's file of passwords."""
    return {name: value for name, value in os.environ.items() if name not in _SECRETS} | {"PGPASSFILE": os.devnull}


def forget_secrets() -> None:
    """The same for this process, from now on."""
    kept = source_environment()
    for name in set(os.environ) - set(kept):
        del os.environ[name]
    os.environ.update(kept)
