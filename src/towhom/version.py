"""The version, in a separate module that every module may import."""

__version__ = "1.0.0"
