"""``python -m dither``."""

from dither.interfaces.cli.main import main

main()
