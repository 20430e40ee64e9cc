"""The published commands of other systems, on this engine: what the thin files in `compat/` call.

A door takes the flags and files of the system it stands for and turns them into an ordinary run. It marks nothing and
asks nothing itself.
"""
