"""Turn text into words: tokenizer, vocabulary, word vectors."""
