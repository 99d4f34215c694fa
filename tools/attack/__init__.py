"""Attacks on readers, sessions, files and the server, with helpers from `tests`; `make attack` runs them."""
