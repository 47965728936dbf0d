"""The laboratory's laws: what each mechanism should release, in code of its own, under the mechanism's public name."""
