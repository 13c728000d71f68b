"""Lets tools that run setup.py find the package; pyproject.toml has its metadata."""

from setuptools import setup

setup()
