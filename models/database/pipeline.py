"""PostgreSQL's pipeline mode: several statements share one round trip.

A round trip costs both processes more than most statements
(docs/decisions/0035-statements-in-one-exchange.md). So a statement whose result is not needed is queued
here until a result is needed. Each statement is prepared at its first use on its connection, unless a
pooler is in between.
"""

import itertools
import re
import select
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from peewee import EXCEPTIONS, ExceptionWrapper, InterfaceError  # type: ignore[attr-defined]
from psycopg import Error, OperationalError
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult

from models.database.session import NotPrimaryError, Session, is_ready

# A connection keeps the plan of a prepared statement, also one made while the tables were empty and a
# sequential scan was the cheapest. Each statement here has an index that serves it
# (docs/decisions/0035-statements-in-one-exchange.md).
PLANNING = {"enable_seqscan": "off", "jit": "off"}
_AS_PEEWEE = ExceptionWrapper(EXCEPTIONS)
COMMIT = "COMMIT"
# How a query begins if it only reads. Those of the gateway have no effects.
_READS = re.compile(
    r"\W*(SELECT\b|WITH\b(?!.*\b(INSERT|UPDATE|DELETE|MERGE)\b))", re.IGNORECASE | re.DOTALL
)


class EndedError(OperationalError):
    """The server ended the session before it reached the COMMIT. The transaction is rolled back."""


@dataclass
class Answer:
    """A statement and its result.

    Read it on the same connection, in the same transaction or after it.
    """

    pipeline: "Pipeline"
    sql: str
    values: Sequence[Any]
    result: PGresult | None = None

    @property
    def rowcount(self) -> int:
        """How many rows were changed or selected."""
        return self.received().command_tuples or 0

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """All rows. Raises like flush()."""
        result = self.received()
        self.pipeline.transformer.set_pgresult(result)
        return self.pipeline.transformer.load_rows(0, result.ntuples, tuple)

    def received(self) -> PGresult:
        """The server's result. Raises like flush()."""
        if self.result is None:
            self.pipeline.flush()
        if self.result is None:
            raise InterfaceError("the statement was never sent, or failed")
        return self.result


class Pipeline(Session):
    """A connection with queued statements. One thread uses it at a time.

    Statements have psycopg's format: ``%s`` for each value. The server infers the type of each value.
    """

    def __init__(self, pgconn: PGconn) -> None:
        super().__init__(pgconn)
        self.transformer = Transformer(self)
        self.waiting: list[Answer] = []
        # Whether this connection replaces one that was lost.
        self.was_replaced = False
        self._names: dict[str, bytes] = {}
        self._numbers = itertools.count(1)

    def put(self, sql: str, values: Sequence[Any] = ()) -> Answer:
        """Queue a statement. It is sent before the next one whose result is needed."""
        dumped = self.transformer.dump_sequence(values, [PyFormat.TEXT] * len(values))
        answer = Answer(self, sql, dumped)
        self.waiting.append(answer)
        return answer

    def flush(self) -> None:
        """Send the queued statements, and read all results.

        Raises peewee's DatabaseError of the first statement that failed. The server ran none after it.

        If the connection is lost and nothing can have been committed, they are sent again on a new one.
        """
        if not self.waiting:
            return
        sent, self.waiting = self.waiting, []
        is_first = self.pgconn.transaction_status == TransactionStatus.IDLE
        if self.is_pooled and is_first:
            self.note_server()
            # Statements that are sent together are one transaction, with or without a BEGIN.
            sent.insert(int(sent[0].sql == self.begin), Answer(self, self.opening, []))
        with _AS_PEEWEE:
            if is_first and not _changes_nothing(sent) and self.is_stale:
                # It could not be sent again.
                self.replace()
            try:
                self._exchange(sent)
            except Error as error:
                if not (self.is_lost and is_first and _is_harmless(sent, error)):
                    raise
                self.replace()
                self._exchange(sent)

    def forget_statements(self) -> None:
        """Prepare each statement again at its next use: a column has another collation."""
        self._names.clear()

    def replace(self) -> None:
        """Replace this lost connection by a new one. Raises psycopg.Error."""
        # The successor closes when it is not referenced: its transformer refers to it.
        vars(self).update(vars(self.open_another()))
        self.was_replaced = True

    def _exchange(self, sent: Sequence[Answer]) -> None:
        server = self.pgconn
        try:
            server.enter_pipeline_mode()
            steps = self._send(sent)
            while server.flush():
                # The server may block until its results are read.
                self._await(select.POLLIN | select.POLLOUT)
                server.consume_input()
            commit_at = _place_of_commit(steps)
            results = [self._next_result(is_open=at < commit_at) for at in range(len(steps))]
            self._end()
        except BaseException:
            # The state of this connection is unknown.
            self.close()
            raise
        error = None
        for step, result in zip(steps, results, strict=True):
            if result.status in {ExecStatus.FATAL_ERROR, ExecStatus.PIPELINE_ABORTED}:
                error = error or error_from_result(result)
                if isinstance(step, str):
                    del self._names[step]
            elif isinstance(step, Answer):
                step.result = result
        if error is not None:
            self.leave_if_read_only(error)
            raise error

    def _end(self) -> None:
        """Read the result of the pipeline's end. If it is lost, the results before it are still valid."""
        try:
            self._next_result(is_open=False)
            self.pgconn.exit_pipeline_mode()
        except Error:
            self.close()

    def _await(self, events: int) -> None:
        """Wait for the server. Raises ConnectionTimeout."""
        for seconds in self.waits():
            if is_ready(self.pgconn.socket, seconds, events):
                return

    def _send(self, sent: Sequence[Answer]) -> list[str | Answer]:
        """Returns for each step what it prepares, or whose answer it gets."""
        steps: list[str | Answer] = []
        for answer in sent:
            sql = answer.sql
            if self.is_pooled:
                self.pgconn.send_query_params(_numbered(sql), answer.values)
            else:
                if sql not in self._names:
                    self._names[sql] = b"gateway_%d" % next(self._numbers)
                    self.pgconn.send_prepare(self._names[sql], _numbered(sql))
                    steps.append(sql)
                self.pgconn.send_query_prepared(self._names[sql], answer.values)
            steps.append(answer)
        self.pgconn.pipeline_sync()
        return steps

    def _next_result(self, *, is_open: bool) -> PGresult:
        """The result of the next step. Each step ends with a None.

        ``is_open``: the transaction does not end before this step.
        """
        result = self._wait_for_result()
        if result is None or self.pgconn.status is ConnStatus.BAD:
            raise OperationalError(self.pgconn.get_error_message())
        if result.status == ExecStatus.FATAL_ERROR and _severity(result) == b"FATAL":
            error = error_from_result(result)
            # The server sends results in order, also those before its end.
            is_certain = is_open and _is_shutdown(error)
            raise (EndedError if is_certain else OperationalError)(str(error)) from error
        self._wait_for_result()
        return result

    def _wait_for_result(self) -> PGresult | None:
        while self.pgconn.is_busy():
            self._await(select.POLLIN)
            self.pgconn.consume_input()
        return self.pgconn.get_result()


def _severity(result: PGresult) -> bytes | None:
    """The severity of an error. A pooler has no translations, and sends only the other field."""
    untranslated = result.error_field(DiagnosticField.SEVERITY_NONLOCALIZED)
    return untranslated or result.error_field(DiagnosticField.SEVERITY)


def _place_of_commit(steps: Sequence[str | Answer]) -> int:
    """The index of the step that commits, which is the last one. Their number if none does."""
    is_last = isinstance(steps[-1], Answer) and steps[-1].sql == COMMIT
    return len(steps) - is_last


def _is_harmless(sent: Sequence[Answer], error: Error) -> bool:
    """Whether the first statements of a connection changed nothing when they failed with it."""
    if sent[-1].sql == COMMIT:
        return isinstance(error, NotPrimaryError | EndedError)
    return _changes_nothing(sent)


def _changes_nothing(sent: Sequence[Answer]) -> bool:
    """Whether the first statements of a connection change nothing unless a COMMIT follows."""
    if sent[-1].sql == COMMIT:
        return False
    return sent[0].sql.startswith("BEGIN") or all(is_read(answer.sql) for answer in sent)


@lru_cache(1_000)
def is_read(sql: str) -> bool:
    """Whether a statement outside of a transaction only reads."""
    return bool(_READS.match(sql))


def _is_shutdown(error: Error) -> bool:
    """Whether the server ended the session, or is stopping. A pooler's errors have other codes."""
    return (error.sqlstate or "").startswith("57P")


def _numbered(sql: str) -> bytes:
    """The statement in the server's format, with ``$1`` and so on."""
    numbers = itertools.count(1)
    found = re.sub("%(.)", lambda at: f"${next(numbers)}" if at[1] == "s" else at[1], sql)
    return found.encode()
