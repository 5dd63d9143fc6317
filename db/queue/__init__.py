"""Jobs and their items: claims, commits, leases, limits and the sums of finished items."""
