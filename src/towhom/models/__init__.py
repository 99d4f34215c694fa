"""The systems that select an addressee and a response, one per file; `registry` lists them."""
