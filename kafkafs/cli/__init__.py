"""What people type: one parser tree, one module a command.

main             the entry point
parser           the tree of commands, for `--help`, man page and completions; its docstring has `add` and `run`
endings          exit codes, and the one sentence on standard error
mount, umount    and `mount_helper`, which mount(8) runs; `options`: the words behind `-o`
ls, cat, stat    views without a mount; `unmounted` is what they share
dump             its flags; `dumping` does it, reading while it writes (`run_ahead`)
grep, groups     records with a pattern; how far groups have read
audit, export, profile, reindex   jobs on Spark, with their arguments (`spark_arguments`)
progress, spark_progress          how far that is, on one line (`status_line`)
demo             the bundled sample, mounted and walked through
"""
