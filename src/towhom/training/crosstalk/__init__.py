"""Trains Crosstalk: analyses rooms, then trains the word weights, then the two looks."""
