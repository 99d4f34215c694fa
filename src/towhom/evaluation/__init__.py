"""How good a system is: one evaluator for all of them."""
