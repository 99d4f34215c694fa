"""The systems that select an addressee and a response: one paper, one file; `registry` lists them."""
