"""Classes that users write and name in a configuration: which are allowed, how they are loaded and called. Imports the errors only."""
