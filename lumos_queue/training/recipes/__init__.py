"""The recipes of training jobs, one in each file. No file imports torch: machines without it read jobs, too."""
