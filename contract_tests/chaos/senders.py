"""Good clients: each message has its own Idempotency-Key, and is repeated until it is answered."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import StrEnum

import requests

from contract_tests.chaos.windows import Wait
from contract_tests.harness import Customer

CLIENTS = 8
PAUSE = 0.1
# The longest time in seconds that the service may be unreachable for one client.
PATIENCE = 600


class Answer(StrEnum):
    """The final result of a message, as its client sees it."""

    SENT = "sent"
    UNCLEAR = "unclear"  # a stored 500: it may have been sent, and is never sent again
    UNSETTLED = (
        "unsettled"  # 409 with Retry-After: the request died, and its outcome is not known yet
    )


class Progress:
    """The progress of the clients, and its limit: they wait for the faults."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.answered = 0
        self.repeats = 0
        self._started = 0
        self._allowed = 0
        self._changed = threading.Condition()

    @property
    def under_way(self) -> int:
        """The number of messages with a request but no response yet."""
        with self._changed:
            return self._started - self.answered

    @property
    def started(self) -> int:
        """The number of messages that the clients have begun."""
        with self._changed:
            return self._started

    def allow_more(self, messages: int) -> None:
        """Raise the limit of begun messages by ``messages``."""
        with self._changed:
            self._allowed += messages
            self._changed.notify_all()

    def reach(self, started: int) -> bool:
        """Wait until the clients have begun ``started`` messages."""
        return self._wait_for(lambda: self._started >= started)

    def reach_answers(self, answered: int, seconds: float = PATIENCE) -> bool:
        """Wait until ``answered`` messages have a response."""
        return self._wait_for(lambda: self.answered >= answered, seconds)

    def note(self, *, answered: int = 0, repeats: int = 0) -> None:
        """Count the results of a client."""
        with self._changed:
            self.answered += answered
            self.repeats += repeats
            self._changed.notify_all()

    def _wait_for(self, reached: Callable[[], bool], seconds: float = PATIENCE) -> bool:
        with self._changed:
            return self._changed.wait_for(reached, seconds)

    def numbers(self) -> Iterator[int]:
        """The numbers of the messages to send. Each goes to one client."""
        while True:
            with self._changed:
                if self._started == self.total:
                    return
                if not self._changed.wait_for(self._is_free, PATIENCE):
                    raise AssertionError("the faults came to a halt")
                if self._started == self.total:
                    return
                number = self._started
                self._started += 1
                self._changed.notify_all()
            yield number

    def _is_free(self) -> bool:
        return self._started < self._allowed or self._started == self.total


class Senders:
    """Sends the messages, each from one client, several at a time."""

    def __init__(self, customer: Customer, seed: int, total: int) -> None:
        self._customer = customer
        self._seed = seed
        self._stop = threading.Event()
        self.progress = Progress(total)
        self.answers: dict[int, Answer] = {}
        self.ids: dict[int, str] = {}
        # When each request began and ended, with any result.
        self.requests: list[Wait] = []
        # Those of them that sent a message or returned its stored response.
        self.successes: list[Wait] = []

    @staticmethod
    def recipient(number: int) -> str:
        """A separate recipient for each message, so that the sandbox's record tells them apart."""
        return f"1557{number:07d}"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Send while the block runs. At its end all messages are answered."""
        with ThreadPoolExecutor(CLIENTS, thread_name_prefix="client") as pool:
            clients = [pool.submit(self._send_all) for _ in range(CLIENTS)]
            try:
                yield
            except BaseException:
                self._stop.set()
                self.progress.allow_more(self.progress.total)
                raise
            for client in clients:
                client.result()

    def _send_all(self) -> None:
        for number in self.progress.numbers():
            if self._stop.is_set():
                return
            self.answers[number] = self.send(number)
            self.progress.note(answered=1)

    def send(self, number: int) -> Answer:
        """Send one message, and repeat it with its key until it is answered."""
        answer = self._ask(number)
        if answer.status_code == 200:
            self._note_id(number, answer.json()["id"])
            return Answer.SENT
        if answer.status_code == 409:
            assert int(answer.headers["Retry-After"]) >= 1, answer.text
            return Answer.UNSETTLED
        assert answer.status_code == 500, f"{answer.status_code} {answer.text}"
        return Answer.UNCLEAR

    def _note_id(self, number: int, message_id: str) -> None:
        known = self.ids.setdefault(number, message_id)
        assert known == message_id, f"message {number} became {known} and {message_id}"

    def _ask(self, number: int) -> requests.Response:
        """The first response that means more than that nothing was sent."""
        for _ in range(round(PATIENCE / PAUSE)):
            began = time.time()
            try:
                answer = self._customer.send(
                    self.recipient(number), f"Message {number}", key=self._key(number)
                )
            except requests.RequestException:
                pass
            else:
                stored = "Idempotency-Replayed" in answer.headers
                if answer.ok:
                    self.successes.append((began, time.time()))
                if answer.status_code not in (500, 503) or stored:
                    return answer
            finally:
                self.requests.append((began, time.time()))
            self.progress.note(repeats=1)
            if self._stop.wait(PAUSE):
                break
        raise AssertionError(f"message {number} got no answer")

    def _key(self, number: int) -> str:
        return f"chaos-{self._seed}-{number}"
