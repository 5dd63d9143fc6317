"""The work of the recipe `rltf`: one optimizer step from the rewards of a batch of rollouts."""
