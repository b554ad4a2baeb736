
_kafkafs() {  # behind a directory's slash more is to come, not the next word
  _shtab_kafkafs
  if [[ ${#COMPREPLY[@]} = 1 && ${COMPREPLY[0]} == */ ]]; then compopt -o nospace 2>/dev/null || :; fi
}

complete -o bashdefault -F _kafkafs kafkafs
