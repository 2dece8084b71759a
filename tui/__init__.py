"""The full-screen terminal interface; nothing imports it but the command line, lazily."""
