"""Connexion's FlaskApp without our code, to measure the framework itself."""
