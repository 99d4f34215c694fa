"""Crosstalk, the bundled model: finds links between messages, their addressees, and the best next message."""
