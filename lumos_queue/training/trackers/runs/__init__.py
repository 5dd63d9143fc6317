"""The runs of the four trackers, through `accelerate.tracking`. Only the process of a tracker imports these modules."""
