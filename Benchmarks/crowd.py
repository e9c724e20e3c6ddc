#!/usr/bin/env python3
"""Opens connections to a server: IDLE ones that send one HEAD request and nothing more, and SLOW ones that read a response slowly.

    crowd.py PORT HOST TARGET IDLE SLOW

Prints "ready" when all connections are open. On SIGTERM, prints "closed" and the number of connections that the server has closed.
"""

import resource
import selectors
import signal
import socket
import sys
import time

READ_SIZE = 4096
PAUSE = 1.0


def connect(port, receive_buffer=None):
    client = socket.socket()
    if receive_buffer:
        # With a larger buffer, the kernel would read the response.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    client.connect(("127.0.0.1", port))
    return client


def main():
    port, host, target, idle_count, slow_count = int(sys.argv[1]), sys.argv[2], sys.argv[3], *map(int, sys.argv[4:6])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, idle_count + slow_count + 64)), hard))
    head = f"HTTP/1.1\r\nHost: {host}\r\n\r\n"
    idle = []
    for _ in range(idle_count):
        client = connect(port)
        client.sendall(f"HEAD {target} {head}".encode())
        client.recv(65536)
        client.setblocking(False)
        idle.append(client)
    slow = []
    for _ in range(slow_count):
        client = connect(port, READ_SIZE)
        client.sendall(f"GET {target} {head}".encode())
        client.setblocking(False)
        slow.append(client)
    signals = []
    signal.signal(signal.SIGTERM, lambda number, frame: signals.append(number))
    print("ready", flush=True)
    closed = 0
    while not signals:
        for client in list(slow):
            try:
                if client.recv(READ_SIZE):
                    continue
            except BlockingIOError:
                continue
            except OSError:
                pass
            slow.remove(client)
            closed += 1
        time.sleep(PAUSE)
    with selectors.DefaultSelector() as selector:
        for client in idle:
            selector.register(client, selectors.EVENT_READ)
        closed += len(selector.select(0))
    print(f"closed {closed}", flush=True)


if __name__ == "__main__":
    main()
