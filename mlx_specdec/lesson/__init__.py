"""The lesson: one round taken apart, and the proof that it changes nothing."""
