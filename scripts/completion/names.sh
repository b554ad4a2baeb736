# Names of a data directory, a line each, for bash and zsh alike; directories end in a slash.

_kafkafs_listed() {  # DATA_DIR PREFIX
  kafkafs ls -ld --time-style=+ "$1" "$2*" 2>/dev/null |
    sed -nE 's|^d.{9}( +[^ ]+){4}  (.*)|\2/|p; s|^l.{9}( +[^ ]+){4}  (.*) -> .*|\2|p; s|^-.{9}( +[^ ]+){4}  (.*)|\2|p'
}

_kafkafs_topic_names() {  # DATA_DIR
  kafkafs ls -1 "$1" 2>/dev/null | sed -nE 's/-[0-9]+$//p' | sort -u
}

_kafkafs_group_names() {  # DATA_DIR
  kafkafs ls -1 "$1" .cluster/groups 2>/dev/null
}
