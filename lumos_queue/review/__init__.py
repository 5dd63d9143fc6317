"""What people say of episodes, and what follows from it."""
