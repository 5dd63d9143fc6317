"""The `lumos` command. Heavy imports stay inside the commands, so that `lumos --help` answers at once."""
