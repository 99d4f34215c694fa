"""A Model Context Protocol server: lets a language model ask about a log, or rooms of `towhom serve`.

It is for analysing chats. To decide whether a bot should speak, use `towhom.Gate`.
"""
