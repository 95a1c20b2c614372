"""The question whether to trust a folder: what its files would change, and what each answer does.

Start with `question.py`: it finds the question of a folder, if there is one, and stores the answer. `changes.py` lists
what the files would change, and shows them without secrets. The screens and the commands import this folder.
"""
