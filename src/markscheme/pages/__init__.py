"""What a command prints and a result shows: pages made of parts, printed, written, drawn in a notebook or framed.

A noun that derives from `Result` lists its page once; every form is made from that. This package knows no noun.
"""
