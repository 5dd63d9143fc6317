"""Super-NaturalInstructions."""
