"""Benchmarks that anyone can run: everything that is compared is measured in one run, taking turns."""
