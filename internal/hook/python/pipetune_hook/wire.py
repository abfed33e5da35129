"""Datagrams to pipetune: one JSON object each, never longer than the receiver takes, never waiting for it."""

import _socket
import errno
import json.encoder
import os
from time import monotonic_ns as clock

from .alarm import foreign

VERSION = 1
LONGEST = 16 << 10  # bytes of a datagram
COST = 1024  # bytes that cost the receiver as much as another message
SHORT = 100  # characters of a string where the message would be too long else

SENT, FULL, GONE = "sent", "full", "gone"

PATH = os.environ.get("PIPETUNE_HOOK_SOCKET", "")
TOKEN = os.environ.get("PIPETUNE_HOOK_TOKEN", "")
KIND = _socket.SOCK_DGRAM | _socket.SOCK_NONBLOCK | _socket.SOCK_CLOEXEC
FLAGS = _socket.MSG_DONTWAIT | _socket.MSG_NOSIGNAL
# Errors that pass: nobody read yet, or this process is short of something.
PASSING = {errno.EAGAIN, errno.EWOULDBLOCK, errno.ENOBUFS, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EINTR}

encode = json.encoder.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class Sender:
    """Sends one report. Its socket lives no longer: no descriptor is there to be inherited, or to be closed by the job
    and taken by another file."""

    def __init__(self):
        self.socket = None
        self.closed = False
        self.cost = 0  # of the last message

    def send(self, process, message):
        message["v"] = VERSION
        message["token"] = TOKEN
        message["pid"] = process.pid
        message["seq"] = next(process.seq)
        message["at"] = clock()
        message["lost"] = process.lost
        if process.untold:
            message["untold"] = process.untold
        try:
            data = encode(message).encode()
            if len(data) > LONGEST:
                data = encode(cut(message, SHORT)).encode()
            if len(data) > LONGEST:
                return SENT  # cannot be: lists are bounded, and strings were cut
            self.cost = 1 + len(data) // COST
            if self.socket is None:
                self.socket = _socket.socket.__new__(_socket.socket)
                self.socket.__init__(_socket.AF_UNIX, KIND)  # apart, so that an alarm of the job's leaves none open
            self.socket.sendto(data, FLAGS, PATH)
            return SENT
        except OSError as error:
            if foreign(error):
                raise
            return FULL if error.errno in PASSING else GONE

    def close(self):
        if self.socket is not None:
            self.socket.close()
        self.closed = True


def cut(value, length):
    """Returns value with all strings in it cut."""
    if isinstance(value, str):
        return value[:length]
    if isinstance(value, dict):
        return {key: cut(each, length) for key, each in value.items()}
    if isinstance(value, list):
        return [cut(each, length) for each in value]
    return value
