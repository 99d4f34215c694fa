"""Processes many logs at once, in one process or on a cluster, with identical results."""
