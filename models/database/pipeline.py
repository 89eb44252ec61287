"""PostgreSQL's pipeline mode: statements go out together, and their answers come back together.

A round trip for each statement costs both processes more than most statements themselves
(docs/decisions/0035-statements-in-one-exchange.md). So a statement whose result is not needed waits here
until the next one whose result is needed. Each statement is prepared at its first use on its connection,
unless a pooler is in between.
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

from models.database.session import TIMEOUTS, Session, is_ready, locally

# A connection keeps the plan of a statement that it prepared while the tables were empty, when to look at
# every row was the cheapest. Each statement here has an index that serves it
# (docs/decisions/0034-plans-without-statistics.md).
PLANNING = {"enable_seqscan": "off", "jit": "off"}
# Behind a pooler each transaction begins with it.
_OPENING = locally(PLANNING | TIMEOUTS)
_AS_PEEWEE = ExceptionWrapper(EXCEPTIONS)


@dataclass
class Answer:
    """A statement and its result: the part of a cursor that we use.

    It may be looked at later, but on the same connection, and first within the same transaction or behind it.
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
        """All rows. Raises as flush()."""
        result = self.received()
        self.pipeline.transformer.set_pgresult(result)
        return self.pipeline.transformer.load_rows(0, result.ntuples, tuple)

    def received(self) -> PGresult:
        """The server's result. Raises as flush()."""
        if self.result is None:
            self.pipeline.flush()
        if self.result is None:
            raise InterfaceError("the statement was never sent, or failed")
        return self.result


class Pipeline(Session):
    """A connection with statements that wait. One thread uses it at a time.

    They are written as psycopg takes them, with ``%s`` in place of each value, and the server finds out of
    what type a value has to be.
    """

    def __init__(self, pgconn: PGconn) -> None:
        super().__init__(pgconn)
        self.transformer = Transformer(self)
        self.waiting: list[Answer] = []
        self._names: dict[str, bytes] = {}
        self._numbers = itertools.count(1)

    def put(self, sql: str, values: Sequence[Any] = ()) -> Answer:
        """Have a statement go out before the next question."""
        dumped = self.transformer.dump_sequence(values, [PyFormat.TEXT] * len(values))
        answer = Answer(self, sql, dumped)
        self.waiting.append(answer)
        return answer

    def flush(self) -> None:
        """Send the statements that wait, and read all answers.

        Raises a DatabaseError of peewee's as the first statement did that failed; none behind it was run.
        """
        if self.waiting:
            if self.is_pooled and self.info.transaction_status is TransactionStatus.IDLE:
                # All that goes out together is one transaction, with or without a BEGIN in it.
                self.waiting.insert(0, Answer(self, _OPENING, []))
            sent, self.waiting = self.waiting, []
            with _AS_PEEWEE:
                self._exchange(sent)

    def _exchange(self, sent: Sequence[Answer]) -> None:
        server = self.pgconn
        try:
            server.enter_pipeline_mode()
            steps = self._send(sent)
            while server.flush():
                # The server may wait until its answers are read.
                is_ready(server.socket, None, select.POLLIN | select.POLLOUT)
                server.consume_input()
            results = [self._next_result() for _ in steps]
            # The end of the pipeline, which has a result of its own.
            self._next_result()
            server.exit_pipeline_mode()
        except BaseException:
            # It is unknown what is still under way on this connection.
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
        """The result of the next step, and of it alone: behind each comes an end."""
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
    """The statement as the server takes it, with ``$1`` and so on."""
    numbers = itertools.count(1)
    found = re.sub("%(.)", lambda at: f"${next(numbers)}" if at[1] == "s" else at[1], sql)
    return found.encode()
