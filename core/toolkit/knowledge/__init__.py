"""What the tools of a session know from earlier sessions: questions to the knowledge base, and articles from it.

Start with `knowledge_tools.py`, whose functions the model calls. `earlier_articles.py` finds the article of a page for
the crawler.
"""
