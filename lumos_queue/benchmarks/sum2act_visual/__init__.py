"""Sum2Act's cases with image experts, over generated pictures."""
