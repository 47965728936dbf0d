"""What needs several queries and calibrations at once, built on top of them."""
