"""The audit: checks that can fail, each with its figure and its bound."""
