"""``python -m dither``."""

from dither.surfaces.cli import main

main()
