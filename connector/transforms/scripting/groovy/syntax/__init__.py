"""From the text of a script to its tree."""
