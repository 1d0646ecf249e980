"""Writing a study out: a text-free release for everybody, or everything with its texts for its owners."""
