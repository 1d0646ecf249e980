"""Pages of verification: gate, parse, call a service, choose a template, answer."""
