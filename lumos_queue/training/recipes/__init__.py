"""The recipes of training jobs, one in each file. No file imports torch, so machines without torch can read jobs."""
