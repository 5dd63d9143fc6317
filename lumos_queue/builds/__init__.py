"""Builds: training sets made from stored episodes, content-addressed, with a manifest and the lineage of each row."""
