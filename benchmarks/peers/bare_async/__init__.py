"""Connexion's AsyncApp with nothing of ours: what the framework itself lets through."""
