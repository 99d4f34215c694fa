"""Hearing: who is present, who is called, and which words are used. Every task reads what is heard here."""
