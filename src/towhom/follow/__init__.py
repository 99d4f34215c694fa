"""Messages of a stream (NATS), given to `towhom serve`: each once, in the order of its room."""
