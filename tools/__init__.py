"""Programs for developers of towhom."""
