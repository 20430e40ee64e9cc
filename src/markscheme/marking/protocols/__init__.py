"""The built-in protocols. Those that share a comparison share a file."""
