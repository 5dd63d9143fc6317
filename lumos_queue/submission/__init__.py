"""From what a user asks for to a job in the database: what programs and the command line share."""
