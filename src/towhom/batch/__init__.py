"""Many logs at once, on one process or on a cluster: the same plan, the same bytes."""
