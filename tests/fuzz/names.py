"""The targets' names, without importing what atheris must see being imported."""

NAMES = ("reply", "mathtext", "traces", "labels", "debate", "release")
