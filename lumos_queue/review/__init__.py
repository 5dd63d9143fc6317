"""Labels and corrections of episodes by people."""
