"""The analysis of messages for all tasks: who is present, who is called, and which words are used."""
