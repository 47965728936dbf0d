"""``dither audit``, ``dither bench`` and ``dither reproduce``; entry points make them commands of ``dither``."""
