"""Connexion's FlaskApp with nothing of ours: what the framework itself lets through."""
