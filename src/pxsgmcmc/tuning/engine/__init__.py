"""Chains whose settings are found on the way, for `px.fit` and for the estimators."""
