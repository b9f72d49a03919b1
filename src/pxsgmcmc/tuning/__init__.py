"""Settings found by measurement: searches whose every trial is a job with a run directory."""
