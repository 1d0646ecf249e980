"""The API of studies and of the annotators' desk: the same services as the pages."""
