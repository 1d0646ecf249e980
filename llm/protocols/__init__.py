"""What each provider's protocol says and answers, as pure functions: no SDK, no network."""
