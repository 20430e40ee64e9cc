"""The words of each language by class, one text file per language."""
