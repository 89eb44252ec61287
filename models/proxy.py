"""The database of this process: whichever models.database.connect() was pointed at."""

from peewee import DatabaseProxy

database = DatabaseProxy()
