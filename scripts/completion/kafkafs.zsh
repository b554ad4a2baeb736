# What zsh completes of kafkafs beside commands and flags; make_pages.py puts it before what shtab writes.

_kafkafs_options() { _values -s , option @OPTIONS@ }

_kafkafs_data_dir() {  # the first word so far that is a directory, or a list of them
  local word
  for word in "${(@Q)words[2,CURRENT-1]}"; do
    if [[ $word == $words[1] ]]; then continue; fi  # shtab names the command twice
    word=${word/#\~/$HOME}
    if [[ -d ${word%%,*} ]]; then print -r -- "$word"; return; fi
  done
  return 1
}

_kafkafs_paths() {  # names below a data directory, as a mount lists them
  local data
  local -a found
  data=$(_kafkafs_data_dir) || return 1
  found=(${(f)"$(_kafkafs_listed "$data" "${(Q)PREFIX}")"})
  compadd -S '' -- ${(M)found:#*/}
  compadd -- ${found:#*/}
}

_kafkafs_topics() {  # a list with commas
  local data
  data=$(_kafkafs_data_dir) && _values -s , topic ${(f)"$(_kafkafs_topic_names "$data")"}
}

_kafkafs_groups() {
  local data
  data=$(_kafkafs_data_dir) && compadd -- ${(f)"$(_kafkafs_group_names "$data")"}
}

_kafkafs_dirs_or_groups() {
  _kafkafs_groups
  _files -/
}
