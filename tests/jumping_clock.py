"""``dither`` with a wall clock that a test moves: python jumping_clock.py FILE_WITH_SECONDS serve ...

The clock of slots is another one, which no operating system ever moves.
"""

import datetime
import sys
from pathlib import Path

PLACE = Path(sys.argv[1] if __name__ == "__main__" else "")
SEVERAL = (
    "dither.ledger.chain",
    "dither.interfaces.http.store",
    "dither.interfaces.http.service",
    "dither.interfaces.http.shared_jobs",
)


class Jumping(datetime.datetime):
    """The real clock, off by the number in the file."""

    @classmethod
    def now(cls, tz=None):
        return datetime.datetime.now(tz) + datetime.timedelta(seconds=float(PLACE.read_text()))


if __name__ == "__main__":
    import importlib

    for name in SEVERAL:
        module = importlib.import_module(name)
        assert hasattr(module, "datetime"), name
        module.datetime = Jumping
    from dither.interfaces.cli.main import main

    sys.argv = ["dither", *sys.argv[2:]]
    main()
