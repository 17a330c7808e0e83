"""The dashboard: load a pair, type a prompt, watch iterations arrive, move the knobs, keep what is better.

`app` is what Panel serves, `page` the frame, and every tab has a file of its own. `session` holds what one
browser tab has; `hub` holds what all of them share: the loaded pairs, each with one thread and one queue.
"""
