"""Who may use the explorer, and what each may do."""
