"""Pages of a study and of the annotators' desk."""
