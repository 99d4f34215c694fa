"""A server of the Model Context Protocol: a language model asks about a log, or rooms of `towhom serve`.

It is for looking at chats. Whether a bot should speak is a question for `towhom.Gate`.
"""
