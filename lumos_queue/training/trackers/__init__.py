"""Experiment trackers: each optimizer step of a training job is also logged to TensorBoard, W&B, MLflow or trackio."""
