"""Mechanisms: private algorithms that turn a statistic and a privacy loss into an answer."""
