"""Least privilege for the daemon: user and capabilities, Landlock, seccomp; `confinement` does all of it in order."""
