"""Chats written for this package, to show it and to test it."""
