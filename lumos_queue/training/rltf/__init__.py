"""The work of the recipe `rltf`: each item does one optimizer step from the rewards of a batch of rollouts."""
