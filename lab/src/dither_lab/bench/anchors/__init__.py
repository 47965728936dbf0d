"""Published methods without a package that can be installed, in floats: yardsticks of the benchmark, never released.

Each was written anew from what could be read of it, and says from what; tests compare its law with an enumeration or
an exact formula (tests/lab/bench/test_anchors.py), and docs/comparison.md says how it was compared with what its
authors published.
"""
