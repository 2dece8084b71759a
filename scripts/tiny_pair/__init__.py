"""How the built-in pair is made: corpora, tokenizer, target, draft, export and measuring."""
