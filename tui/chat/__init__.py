"""The chat in the app, apart from its screen."""
