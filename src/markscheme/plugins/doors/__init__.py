"""The published commands of other systems, on this engine: what the thin files in `compat/` call."""
