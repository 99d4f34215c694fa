"""Crosstalk, the model that ships: who answers whom, and so who addresses whom, and what is said next."""
