"""The rudest guest: ten support tasks with a small real model, offline. `make real-model`."""
