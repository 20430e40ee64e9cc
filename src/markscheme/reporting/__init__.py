"""Figures for people and files: terminal, Markdown, LaTeX, CSV, plots, and the comparison of runs."""
