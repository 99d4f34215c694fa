"""Messages to labelled samples on disk: built once, opened in no time."""
