"""`scripts/bench`: kafkafs beside its floor (an empty pyfuse3 pass-through) and its peers, in one run.

data       topics that a real broker wrote, kept for the next run
floor      the pass-through
mounts     both mounted, as processes of their own
measure    repeated, interleaved timing: medians with minimum and maximum
sections   what is measured, a module each
report     the table of ratios, as text and JSON
"""
