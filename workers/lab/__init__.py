"""Measurements and the notebook page. Neither the wheel nor the image contains this package."""
