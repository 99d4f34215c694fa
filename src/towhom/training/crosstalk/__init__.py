"""Trains Crosstalk: rooms are heard, words learned, then what to make of everything."""
