"""The version, apart from the rest: everything may import it."""

__version__ = "0.1.0.dev0"
