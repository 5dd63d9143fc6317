"""Tasks, the actions they need, and how an answer is scored. One file each."""
