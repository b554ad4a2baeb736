"""The commands that people type. A command, of those that `parser.COMMANDS` lists, is two functions:

    quick_arguments.py   add_cat(commands)  what `kafkafs cat` may be given; cheap to import, for `--help` and man page
    cat.py               run(arguments)     what it does: an exit code; imported by `main` when `cat` was typed

So each file says at its top all that it needs; what only some calls need, and takes long, is imported there, with a
word about why.

main             the entry point
parser           the tree of commands, for `--help`, man page and completions, into which these hang what they take:
                 quick_arguments, job_arguments, mount_arguments, dump_arguments
exit_codes       exit codes, and the one sentence on standard error
mount, umount    and `mount_helper`, which mount(8) runs; `mount_options`: the words of `-o`; `daemon`: what is served;
                 `mount_buckets`: the look at copies in buckets before
ls, cat, stat    views without a mount; `unmounted` is what they share
dump             from paths to what `kafkafs.dump` prints
window           the part of logs that `dump` and `grep` are asked for
grep             records with a pattern; `search_output`: what is printed of them
groups           how far groups have read, and `group_history`
du, triage       what fills the disk; the first minute after an outage; `tables`: columns for people
audit, diff, export, profile, reindex   jobs, and what they share: `spark_command`
revive           a directory from which a real Kafka starts
progress         how far a dump or a search is, on one line (`status_line`)
demo             the bundled sample, mounted and walked through
help             what `--help` says
"""
