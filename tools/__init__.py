"""Programs for those who work on towhom."""
