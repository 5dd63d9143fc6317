"""Find whether the rows of a job are those of a published file."""
