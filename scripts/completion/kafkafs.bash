# What bash completes of kafkafs beside commands and flags; make_pages.py puts it before what shtab writes.

_kafkafs_options() {  # behind -o: what comes next in a list with commas
  local before=""
  [[ $1 == *,* ]] && before="${1%,*},"
  compgen -P "$before" -W "@OPTIONS@" -- "${1##*,}"
}

_kafkafs_data_dir() {  # the first word so far that is a directory, or a list of them
  local word
  for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
    word=${word/#\~/$HOME}
    if [ -d "${word%%,*}" ]; then printf '%s\n' "$word"; return; fi
  done
  return 1
}

_kafkafs_matching() {  # TYPED [BEFORE]: of the names that come in those that fit, quoted, since they are strangers':
  local name           # `compgen -W`, and the line that a name is put into, would run a `$(...)` in it
  while IFS= read -r name; do
    printf -v name %q "$name"
    if [[ $name == "$1"* ]]; then printf '%s\n' "$2$name"; fi
  done
}

_kafkafs_paths() {  # names below a data directory, as a mount lists them
  local data
  data=$(_kafkafs_data_dir) && _kafkafs_listed "$data" "${1//\\/}" | _kafkafs_matching "$1"
}

_kafkafs_topics() {  # what comes next in a list with commas
  local data before=""
  [[ $1 == *,* ]] && before="${1%,*},"
  data=$(_kafkafs_data_dir) && _kafkafs_topic_names "$data" | _kafkafs_matching "${1##*,}" "$before"
}

_kafkafs_groups() {
  local data
  data=$(_kafkafs_data_dir) && _kafkafs_group_names "$data" | _kafkafs_matching "$1"
}

_kafkafs_dirs_or_groups() {  # shtab takes what has "dirs" in its name for file names
  compgen -d -- "$1"
  _kafkafs_groups "$1"
}
