"""Pages of adjudication: gate, parse, call a service, choose a template, answer."""
