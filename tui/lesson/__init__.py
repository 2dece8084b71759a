"""The lesson and the proof in the app, apart from their screens."""
