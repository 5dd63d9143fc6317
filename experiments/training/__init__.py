"""Tokens per CPU second of training: this project's engine, its former loop, Trainer and TRL's SFTTrainer."""
