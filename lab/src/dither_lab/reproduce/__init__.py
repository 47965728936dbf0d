"""The papers' figures, tables and theorems, measured again with our own code.

An ``Experiment`` measures points, each with an interval, and judges what a paper claims by them; ``run`` runs a list
of experiments, ``report`` writes what they found.  One module for each paper, one for the errors found in them.
Mechanisms that a paper compares with, and that we do not ship (some are not private), live here and nowhere else.
"""
