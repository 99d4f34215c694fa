"""A model over HTTP: questions, channels that are kept, and a page to look at. Needs the extra `serve`."""
