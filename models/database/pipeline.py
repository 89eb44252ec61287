"""PostgreSQL's pipeline mode: statements go out together, and their answers come back together.

A round trip for each statement costs both processes more than most statements themselves
(docs/decisions/0035-statements-in-one-exchange.md). So a statement whose result is not needed waits here
until the next one whose result is needed. Each statement is prepared at its first use on its connection,
unless a pooler is in between.
"""

import re
import select
from collections.abc import Sequence
from typing import Any, NamedTuple

import peewee
import psycopg
from peewee import ExceptionWrapper, InterfaceError
from psycopg import OperationalError
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import InvalidSqlStatementName, error_from_result
from psycopg.pq import ConnStatus, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult

Row = tuple[Any, ...]

# The errors of Python's DB-API, which psycopg's and peewee's are named after.
_ERRORS = (
    "DataError",
    "DatabaseError",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
)
_AS_PEEWEE = ExceptionWrapper({name: getattr(peewee, name) for name in _ERRORS})
_FAILED = (ExecStatus.FATAL_ERROR, ExecStatus.PIPELINE_ABORTED)
_PLACEHOLDER = re.compile("%(.)")


class _Statement(NamedTuple):
    sql: str
    values: Sequence[Any]
    answer: "Answer"


class Answer:
    """The result of a statement: the part of a cursor that we use.

    It may be looked at later, but on the same connection, and first within the same transaction or behind it.
    """

    def __init__(self, pipeline: "Pipeline") -> None:
        self._pipeline = pipeline
        self.result: PGresult | None = None

    @property
    def rowcount(self) -> int:
        """How many rows were changed or selected."""
        return self._received().command_tuples or 0

    @property
    def tag(self) -> bytes:
        """The server's own word for what it did, such as COMMIT."""
        return self._received().command_status or b""

    def fetchall(self) -> list[Row]:
        """All rows."""
        return self._pipeline.load(self._received())

    def _received(self) -> PGresult:
        if self.result is None:
            self._pipeline.flush()
        if self.result is None:
            raise InterfaceError("the statement was never sent, or failed")
        return self.result


class Pipeline:
    """The statements of one connection, which one thread uses at a time.

    They are written as psycopg takes them, with ``%s`` in place of each value, and the server finds out of
    what type a value has to be.
    """

    def __init__(self, connection: psycopg.Connection[Any], opening: str = "") -> None:
        """With an ``opening``, a statement that each transaction begins with, none is prepared."""
        self._connection = connection
        self._opening = opening
        self._transformer = Transformer(connection)
        self._waiting: list[_Statement] = []
        self._names: dict[str, bytes] = {}
        self._named = 0
        self._arrival, self._way = select.poll(), select.poll()
        self._arrival.register(connection.fileno(), select.POLLIN)
        self._way.register(connection.fileno(), select.POLLIN | select.POLLOUT)

    def put(self, sql: str, values: Sequence[Any] = ()) -> Answer:
        """Have a statement go out before the next question."""
        dumped = self._transformer.dump_sequence(values, [PyFormat.TEXT] * len(values))
        answer = Answer(self)
        self._waiting.append(_Statement(sql, dumped, answer))
        return answer

    def ask(self, sql: str, values: Sequence[Any] = ()) -> Answer:
        """The answer to a statement, after the statements that wait. Raises as flush()."""
        answer = self.put(sql, values)
        self.flush()
        return answer

    def load(self, result: PGresult) -> list[Row]:
        """The rows of a result."""
        self._transformer.set_pgresult(result)
        return self._transformer.load_rows(0, result.ntuples, tuple)

    def forget(self) -> None:
        """Drop the statements that wait."""
        self._waiting.clear()

    def flush(self) -> None:
        """Send the statements that wait, and read all answers.

        Raises a DatabaseError of peewee's as the first statement did that failed; none behind it was run.
        """
        if self._waiting:
            if self._opening and self._connection.info.transaction_status is TransactionStatus.IDLE:
                # All that goes out together is one transaction, with or without a BEGIN in it.
                self._waiting.insert(0, _Statement(self._opening, [], Answer(self)))
            sent, self._waiting = self._waiting, []
            with _AS_PEEWEE:
                self._exchange(sent)

    def _exchange(self, sent: Sequence[_Statement]) -> None:
        server = self._connection.pgconn
        try:
            server.enter_pipeline_mode()
            steps = self._send(server, sent)
            results = [self._next_result(server) for _ in steps]
            self._read_end(server)
            server.exit_pipeline_mode()
        except BaseException:
            # It is unknown what is still under way on this connection.
            self._connection.close()
            raise
        self._hand_out(steps, results)

    def _send(self, server: PGconn, statements: Sequence[_Statement]) -> list[str | Answer]:
        """Returns for each step what it prepares, or whose answer it gets."""
        steps: list[str | Answer] = []
        for sql, values, answer in statements:
            name = self._names.get(sql)
            if self._opening:
                server.send_query_params(_numbered(sql).encode(), values)
            else:
                if name is None:
                    self._named += 1
                    name = self._names[sql] = b"gateway_%d" % self._named
                    server.send_prepare(name, _numbered(sql).encode())
                    steps.append(sql)
                server.send_query_prepared(name, values)
            steps.append(answer)
        server.pipeline_sync()
        while server.flush():
            # The server may wait until its answers are read.
            self._way.poll()
            server.consume_input()
        return steps

    def _next_result(self, server: PGconn) -> PGresult:
        """The result of the next statement, and of it alone: behind each comes an end."""
        self._wait(server)
        result = server.get_result()
        if result is None or server.status is ConnStatus.BAD:
            raise _lost(server, result)
        self._wait(server)
        server.get_result()
        return result

    def _read_end(self, server: PGconn) -> None:
        self._wait(server)
        result = server.get_result()
        if result is None or result.status != ExecStatus.PIPELINE_SYNC:
            raise _lost(server, result)

    def _wait(self, server: PGconn) -> None:
        """Wait until a result is there, while other threads run."""
        while server.is_busy():
            self._arrival.poll()
            server.consume_input()

    def _hand_out(self, steps: Sequence[str | Answer], results: Sequence[PGresult]) -> None:
        error = None
        for step, result in zip(steps, results, strict=True):
            failed = result.status in _FAILED
            if failed and error is None:
                error = error_from_result(result)
                if isinstance(error, InvalidSqlStatementName):
                    # A pooler in between dropped the prepared statements.
                    self._names.clear()
            if isinstance(step, Answer):
                step.result = None if failed else result
            elif failed:
                self._names.pop(step, None)
        if error is not None:
            raise error


def _numbered(sql: str) -> str:
    """The statement as the server takes it, with ``$1`` and so on."""
    count = 0

    def number(found: re.Match[str]) -> str:
        nonlocal count
        if found[1] != "s":
            return found[1]
        count += 1
        return f"${count}"

    return _PLACEHOLDER.sub(number, sql)


def _lost(server: PGconn, result: PGresult | None) -> psycopg.Error:
    """Why the connection has ended, in the server's own words if it said any: an OperationalError."""
    if result is not None and result.status == ExecStatus.FATAL_ERROR:
        error = error_from_result(result)
        return error if isinstance(error, OperationalError) else OperationalError(str(error))
    return OperationalError(server.get_error_message() or "the connection is lost")
