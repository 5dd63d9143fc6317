"""Generated pictures and texts that replace the data sets of OpenAGI: the same on every machine; licence MIT."""
