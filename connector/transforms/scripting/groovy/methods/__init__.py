"""The methods and properties that values have in a script."""
