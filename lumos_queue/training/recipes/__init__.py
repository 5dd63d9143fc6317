"""What a training job can do, one recipe a file. Nothing here needs torch: jobs are also read where no one trains."""
