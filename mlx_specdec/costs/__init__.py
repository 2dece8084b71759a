"""Costs: what passes take here, measured, published or guessed, and who keeps them."""
