"""markscheme inside other tools: tasks and marking for lm-evaluation-harness and Inspect, and reading their logs.

Nothing here is imported by the rest of the package, and the other tool is imported only where it is really called.
"""
