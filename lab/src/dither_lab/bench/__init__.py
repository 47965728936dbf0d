"""Side by side with other libraries: ``dither bench``.

An area is a list of comparisons; a comparison names the data, our way, the others' ways and what is measured.  Every
way runs in a worker process of its own, a peer's in an environment of its own, and all take turns in one run.
"""
