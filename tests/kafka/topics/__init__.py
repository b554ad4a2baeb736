"""What the harness has each broker write, one module a subject.

A subject has `topics(release)`, how its topics are created, and `write(broker)`, which fills them. What is written is
for truth to tell: a test asks `dataset`, not these modules.
"""
