"""lumos-queue: a distributed job queue for language agents that plan, ground and execute."""
