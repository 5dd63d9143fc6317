"""Labels, corrections and scores that are added to stored episodes."""
