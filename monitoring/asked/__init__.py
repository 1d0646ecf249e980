"""The debate and the generation of traces as an administrator orders and watches them."""
