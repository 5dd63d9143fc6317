"""Build OpenAGI's data from the published data sets that the paper took its samples from."""
