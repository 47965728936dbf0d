"""Scripts that run in the environments of the peers (and in ours): copied out of the package, never imported by it.

Each module has functions ``task(options, data)`` that return one more function, which does the work once.
``loop.py`` is what is started; it loads one of them.
"""
