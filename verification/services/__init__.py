"""Services of verification: the pages, the commands and the imports call the same ones."""
