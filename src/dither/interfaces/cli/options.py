"""Options whose help lists the names of a registry, looked up when help is shown so that other commands stay quick."""

from __future__ import annotations

from collections.abc import Iterable

import click


class MechanismOption(click.Option):
    """A mechanism by name."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from dither.mechanisms.choice import MECHANISMS

        self.help = _listed(MECHANISMS)
        return super().get_help_record(ctx)


class NoiseOption(click.Option):
    """A law of noise by name."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from dither.mechanisms.choice import NOISES

        self.help = _listed(NOISES)
        return super().get_help_record(ctx)


def _listed(registry: Iterable[str]) -> str:
    *names, last = ("auto", *registry)
    return f"{', '.join(names)} or {last}."
