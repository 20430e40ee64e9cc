"""The words of each language by class: data, one text file per language."""
