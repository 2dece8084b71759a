"""Chats: what is said, kept and figured, without a screen."""
