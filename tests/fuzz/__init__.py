"""Targets for fuzzing: each takes bytes and raises if our code breaks a promise. `make fuzz` drives them."""
