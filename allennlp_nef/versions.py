from importlib.metadata import PackageNotFoundError, version


def version_of(distribution: str) -> str:
    """The version of an installed distribution, or "unknown" where it is not installed, as in a bare checkout."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"
