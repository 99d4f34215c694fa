"""Hearing: who is there, who is called outright, what the words are. Every task reads what is heard here."""
