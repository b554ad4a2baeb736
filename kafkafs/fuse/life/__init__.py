"""The life of a mount: made, watched over by a guard, logged, and ended by a signal or by `umount`."""
