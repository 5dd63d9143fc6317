"""Generated pictures and texts that stand for the data sets of OpenAGI: the same on every machine, and MIT."""
