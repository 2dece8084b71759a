"""The race in the app, apart from its screen."""
