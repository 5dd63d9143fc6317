"""Make a job in the database from options, for the command line and for programs."""
