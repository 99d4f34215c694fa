"""Measures how good systems are, with one evaluator for all of them."""
