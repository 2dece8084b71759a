"""The lookahead: how many tokens to guess, decided by price and by acceptance."""
