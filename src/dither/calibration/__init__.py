"""Calibrations: manners of turning a statistic and a loss into a private answer."""
