"""From options to a job in the database: shared by the command line and by programs."""
