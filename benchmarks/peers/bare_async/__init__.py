"""Connexion's AsyncApp without our code, to measure the framework itself."""
