"""Attacks on readers, sessions, files and the server, with what the tests have; `make attack` runs them."""
