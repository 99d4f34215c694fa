"""Benchmarks that anyone can run; everything that is compared is measured in turns, in one run."""
