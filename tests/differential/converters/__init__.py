"""Random schemas, values and options for converters, given to the original converters and to this project's."""
