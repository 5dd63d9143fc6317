"""Everything that only reads: jobs, episodes, steps, labels and figures for reports."""
