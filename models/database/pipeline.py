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
from typing import Any

from peewee import EXCEPTIONS, ExceptionWrapper, InterfaceError  # type: ignore[attr-defined]
from psycopg import OperationalError
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult

from models.database.session import Session, is_ready

# A connection keeps the plan of a prepared statement, also one made while the tables were empty and a
# sequential scan was the cheapest. Each statement here has an index that serves it
# (docs/decisions/0035-statements-in-one-exchange.md).
PLANNING = {"enable_seqscan": "off", "jit": "off"}
_AS_PEEWEE = ExceptionWrapper(EXCEPTIONS)


@dataclass
class Answer:
    """A statement and its result. It has the part of the cursor interface that the gateway uses.

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

    def fetchall(self) -> list[tuple[Any, ...]]:
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
        """
        if self.waiting:
            if self.is_pooled and self.info.transaction_status is TransactionStatus.IDLE:
                # Statements that are sent together are one transaction, with or without a BEGIN.
                has_begin = self.waiting[0].sql == self.begin
                self.waiting.insert(int(has_begin), Answer(self, self.opening, []))
            sent, self.waiting = self.waiting, []
            with _AS_PEEWEE:
                self._exchange(sent)

    def _exchange(self, sent: Sequence[Answer]) -> None:
        server = self.pgconn
        try:
            server.enter_pipeline_mode()
            steps = self._send(sent)
            while server.flush():
                # The server may block until its results are read.
                is_ready(server.socket, None, select.POLLIN | select.POLLOUT)
                server.consume_input()
            results = [self._next_result() for _ in steps]
            # The end of the pipeline also has a result.
            self._next_result()
            server.exit_pipeline_mode()
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
            raise error

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

    def _next_result(self) -> PGresult:
        """The result of the next step. Each step ends with a None."""
        result = self._wait_for_result()
        if result is None or self.pgconn.status is ConnStatus.BAD:
            raise OperationalError(self.pgconn.get_error_message())
        self._wait_for_result()
        return result

    def _wait_for_result(self) -> PGresult | None:
        while self.pgconn.is_busy():
            is_ready(self.pgconn.socket, None)
            self.pgconn.consume_input()
        return self.pgconn.get_result()


def _numbered(sql: str) -> bytes:
    """The statement in the server's format, with ``$1`` and so on."""
    numbers = itertools.count(1)
    found = re.sub("%(.)", lambda at: f"${next(numbers)}" if at[1] == "s" else at[1], sql)
    return found.encode()
