"""The demo: what the command does is in `command`; each run is a process of its own, `process`."""
