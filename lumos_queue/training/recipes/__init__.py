"""What a training job can do, one recipe a file. Nothing here needs torch: a job is read where nobody trains."""
