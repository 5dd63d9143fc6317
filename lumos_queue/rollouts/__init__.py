"""Going on from stored episodes: with replies replaced, to find the module at fault, and from each prefix."""
