"""slowly.py PROGRAM: runs a program of docs/checkpoints.md whose checkpoints then take 20 seconds, and notes in their folder what happens to it
and when. A file in that folder outlives the Pod, and its output does not."""

import os
import runpy
import signal
import socket
import sys
import time

FOLDER = "/checkpoints"
SECONDS = 20

log = os.open(f"{FOLDER}/{socket.gethostname()}-{os.getpid()}-{time.time_ns()}.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
listen, replace, sleep = signal.signal, os.replace, time.sleep
steps = 0


def note(what):
    os.write(log, f"{time.time():.3f} {what}\n".encode())  # also from a handler, which may interrupt a print


def listen_and_note(number, handler):
    def noting(*arguments):
        note("told")
        handler(*arguments)
    return listen(number, noting if callable(handler) else handler)


def sleep_and_note(seconds):
    global steps
    steps += seconds == 0.1  # a step of each of the programs
    if steps == 3:
        note("trains")
    sleep(seconds)


def replace_slowly(part, whole):
    is_checkpoint = os.path.dirname(whole) == FOLDER
    for second in range(SECONDS if is_checkpoint else 0):
        note(f"saves, second {second}")
        sleep(1)
    replace(part, whole)
    if is_checkpoint:
        note("saved")


signal.signal, os.replace, time.sleep = listen_and_note, replace_slowly, sleep_and_note
sys.argv = sys.argv[1:]
note("begins")
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    note("ends")
