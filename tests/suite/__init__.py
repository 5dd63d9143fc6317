"""What the test suite checks about itself."""
