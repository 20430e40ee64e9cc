"""The published commands of other systems on this engine, called by the thin files in `compat/`."""
