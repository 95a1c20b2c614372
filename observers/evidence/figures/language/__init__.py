"""What words say about figures: the language of a text, numbers in words, and words that belong to a figure.

`languages` tells the language, `words` reads numbers in words, and `wordings` has the words beside figures.
"""
