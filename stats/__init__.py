"""Statistics on arrays: bootstrap, detection, localisation, agreement: numpy only."""
