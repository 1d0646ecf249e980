"""The API of disputes and standards: the same services as the lead's pages, masked like them."""
