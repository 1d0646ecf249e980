"""The demo: the main job on the sample study, through the same services as pages and commands."""
