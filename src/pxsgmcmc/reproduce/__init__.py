"""The tables and figures of the paper as data: runs to make, published values, claims, verdicts."""
