"""A study's own grading error: monitors as graders of its traces."""
