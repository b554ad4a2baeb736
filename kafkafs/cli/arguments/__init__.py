"""What each command may be given: its arguments, its help, its examples.

A module for each command, with `add(commands)`, which hangs its parser into the tree (`cli/parser.py`). What the
command does is in the module of the same name one level above, which is imported when it was chosen. These here are
imported for every `--help`, for the man page and the completions: they import nothing that may be missing.

`set_defaults(interrupted=...)` is what is said after Ctrl-C; nothing without it.

unmounted        the arguments that `ls`, `cat` and `stat` share
spark            those that `audit`, `reindex`, `export` and `profile` share
"""
