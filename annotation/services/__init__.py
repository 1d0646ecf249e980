"""What people do in a study: each a verb, one transaction, one audit call."""
