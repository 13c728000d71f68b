"""A WSGI application that answers requests with an archive, and settings of gunicorn for it."""

from allennlp_nef.serving.application import create_app

__all__ = ["create_app"]
