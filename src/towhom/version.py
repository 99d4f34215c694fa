"""The version, apart from the rest: everything may import it."""

__version__ = "1.0.0"
