"""The built-in protocols, one file each."""
