"""What every part of the API shares: who asks, what they may, how errors look, how long a page is."""
