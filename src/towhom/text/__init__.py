"""Text to words: tokenizer, vocabulary, word vectors."""
