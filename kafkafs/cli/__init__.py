"""The command line. Each command in `parser.COMMANDS` consists of two functions:

    quick_arguments.py   add_cat(commands)  adds the arguments of `kafkafs cat`; cheap to import, for `--help`
    cat.py               run(arguments)     runs the command and returns its exit code; `main` imports it on demand

Each module imports at its top everything that every call needs. A slow import that only some calls need is inside the
function, with a comment that gives the reason.

main             the entry point
parser           the argument parser, from which `--help`, the man page and the completions are made. These modules add
                 the arguments of the commands: quick_arguments, job_arguments, mount_arguments, dump_arguments
exit_codes       exit codes, and the error sentence on standard error
mount, umount    `mount_helper` is the program that mount(8) runs; `mount_options` parses `-o`; `daemon` opens the data
                 that a mount serves; `mount_buckets` checks copies in buckets before the mount
ls, cat, stat    views without a mount; `unmounted` has the code that they share
dump             opens the files that `kafkafs.dump` prints
window           the part of the logs that `dump` and `grep` read
grep             records that match a pattern; `search_output` prints them
groups           the lag of consumer groups; `group_history`: the records about one group
du, triage       disk usage; first checks after an outage; `tables`: aligned columns for a terminal
audit, diff, export, profile, reindex   jobs; `spark_command` has the code that they share
revive           makes a data directory from which a real Kafka broker starts
progress         the progress of a dump or a search, in one line (`status_line`)
demo             mounts the bundled sample and shows example commands
help             the text of `--help`
"""
