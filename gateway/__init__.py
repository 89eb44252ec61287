"""Assembly: settings, the web application, the worker and the command line."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("messaging-gateway")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0.0.0"
