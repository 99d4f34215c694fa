"""Sends the messages of a stream (NATS) to `towhom serve`: each exactly once, in order within its room."""
