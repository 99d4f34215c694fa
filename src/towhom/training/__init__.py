"""Training of the neural systems: seeded, resumable, stopped early. Needs the extra `train`."""
