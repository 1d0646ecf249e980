"""Model providers behind one Protocol, retry, rate limit, price, reply parsing: no Django."""
