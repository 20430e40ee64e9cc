"""markscheme inside other tools: tasks and marking for lm-evaluation-harness and Inspect, and readers for their logs.

The rest of the package imports nothing from here, and the other tool is imported only when it is called.
"""
