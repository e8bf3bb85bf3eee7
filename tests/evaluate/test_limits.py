"""Limits of time, so that a busy machine does not change what a check shows, and of memory."""

from __future__ import annotations

import gc
import signal
import threading
import time

import pytest

from shapecheck.evaluate.limits import TimeLimitError, time_limit


def test_what_waits_for_the_processor_is_not_ended_and_what_uses_it_is() -> None:
    with time_limit(0.5, of_processor=True):
        time.sleep(0.7)  # as where others have the processor
    began = time.monotonic()
    with pytest.raises(TimeLimitError), time_limit(0.2, of_processor=True):
        while time.monotonic() < began + 20:
            pass


def test_it_does_not_wait_without_end() -> None:
    with pytest.raises(TimeLimitError), time_limit(0.1, of_processor=True):
        time.sleep(20)


@pytest.mark.parametrize("of_processor", [True, False])
def test_an_alarm_as_the_body_ends_ends_nothing_that_comes_after(
    monkeypatch: pytest.MonkeyPatch, *, of_processor: bool
) -> None:
    set_timer = signal.setitimer

    def set_late(which: int, seconds: float) -> tuple[float, float]:
        before = set_timer(which, seconds)
        if not seconds:
            signal.raise_signal(signal.SIGALRM)  # it was on its way already
        return before

    monkeypatch.setattr(signal, "setitimer", set_late)
    with time_limit(60, of_processor=of_processor):
        pass
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_by_the_clock_waiting_counts() -> None:
    with pytest.raises(TimeLimitError), time_limit(0.1):
        time.sleep(20)


def test_an_inner_limit_ends_no_later_than_the_outer_one() -> None:
    began = time.monotonic()
    with pytest.raises(TimeLimitError), time_limit(0.2), time_limit(20.0, of_processor=True):
        while time.monotonic() < began + 10:
            pass
    assert time.monotonic() < began + 5


def test_another_thread_has_no_limit() -> None:
    ended: list[str] = []

    def work() -> None:
        with time_limit(0.05, of_processor=True):
            time.sleep(0.3)
        ended.append("by itself")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == ["by itself"]


def test_what_is_going_on_may_be_given_more_time() -> None:
    began = time.monotonic()
    with time_limit(0.1, longer=lambda frame: 20.0):
        time.sleep(0.3)
    with pytest.raises(TimeLimitError), time_limit(0.1, longer=lambda frame: 0.2):
        time.sleep(20)
    assert time.monotonic() < began + 10


def test_an_alarm_while_garbage_is_collected_is_neither_printed_nor_lost(capsys: pytest.CaptureFixture[str]) -> None:
    def collected(phase: str, info: dict[str, int]) -> None:
        time.sleep(0.3)

    class Held:
        def __del__(self) -> None:
            time.sleep(0.3)

    gc.callbacks.append(collected)
    try:
        with pytest.raises(TimeLimitError), time_limit(0.1):
            gc.collect()
            time.sleep(20)
    finally:
        gc.callbacks.remove(collected)
    with pytest.raises(TimeLimitError), time_limit(0.1):
        Held()
        time.sleep(20)
    assert "ignored" not in capsys.readouterr().err


def test_code_that_leaves_no_memory_is_named_and_the_rest_judged(check_folder) -> None:
    """Where the memory ends is in our own code as well as in the user's: then it is no bug of ours."""
    source = '''
HELD = []

def hungry(x):
    """x: array of shape (n, d)."""
    for size in (1 << 20, 1 << 10, 1):
        try:
            while True:
                HELD.append(bytearray(size))
        except MemoryError:
            pass
    return x  # (n, d)

def fine(x):
    """x: array of shape (n, d)."""
    return x.T  # (n, d)  ~SC201
'''
    folder = check_folder({"hungry.py": source}, "memory = 1.5\n")
    assert not folder.report.bugs
    case = folder.cases["hungry.py"]
    assert [code for _, code in case.actual] == ["SC304", "unreached", "unreached", "SC201"], case.details
    assert "memory" in next(each.reason for each in folder.report.unreached)
