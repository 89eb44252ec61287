"""The database: transactions for all models, and the two engines, SQLite and PostgreSQL."""

from models.database.engine import Waiting as Waiting
from models.database.engine import answers_at_once as answers_at_once
from models.database.engine import appending as appending
from models.database.engine import commit as commit
from models.database.engine import commits as commits
from models.database.engine import connect as connect
from models.database.engine import database as database
from models.database.engine import empty_log as empty_log
from models.database.engine import incompatible_migrations as incompatible_migrations
from models.database.engine import is_postgresql as is_postgresql
from models.database.engine import last_progress as last_progress
from models.database.engine import migrate as migrate
from models.database.engine import pending_migrations as pending_migrations
from models.database.engine import progress as progress
from models.database.engine import read as read
from models.database.engine import reading as reading
from models.database.engine import write as write
from models.database.engine import writing as writing
from models.database.rows import BaseModel as BaseModel
from models.database.rows import Prepared as Prepared
from models.database.rows import Rows as Rows
from models.database.rows import is_among as is_among
from models.database.rows import is_in as is_in
