"""What people are told of the system's errors: words, no numbers."""

import os
import socket
import ssl

import pytest

from lumos_queue.util.os_errors import describe_os_error


def test_the_number_of_a_systems_error_is_left_out(tmp_path):
    with pytest.raises(OSError) as missing:
        (tmp_path / "nope").read_bytes()
    assert describe_os_error(missing.value) == f"No such file or directory: '{tmp_path / 'nope'}'"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(OSError) as refused:
            socket.create_connection(free.getsockname())
    assert describe_os_error(refused.value) == "Connection refused"
    assert describe_os_error(OSError(111, "Connect call failed ('127.0.0.1', 9)")) == os.strerror(111)


def test_what_has_no_such_number_says_what_it_said():
    several = OSError("Multiple exceptions: [Errno 111] Connect call failed, [Errno 101] Network is unreachable")
    assert describe_os_error(several) == "Multiple exceptions: Connect call failed, Network is unreachable"
    unknown = socket.gaierror(-2, "Name or service not known")
    assert describe_os_error(unknown) == "Name or service not known"
    tls = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")
    assert "certificate verify failed" in describe_os_error(tls)
