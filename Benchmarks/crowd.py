#!/usr/bin/env python3
"""Clients that cost a server patience: some that keep a connection and ask for nothing, some that read slowly.

    crowd.py PORT HOST TARGET IDLE SLOW

Says "ready" when all of them are there, and goes on until it is ended; then says how many the server has let go.
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
        # The kernel shall not read in our stead.
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
    ended = []
    signal.signal(signal.SIGTERM, lambda number, frame: ended.append(number))
    print("ready", flush=True)
    gone = 0
    while not ended:
        for client in list(slow):
            try:
                if client.recv(READ_SIZE):
                    continue
            except BlockingIOError:
                continue
            except OSError:
                pass
            slow.remove(client)
            gone += 1
        time.sleep(PAUSE)
    with selectors.DefaultSelector() as selector:
        for client in idle:
            selector.register(client, selectors.EVENT_READ)
        gone += len(selector.select(0))
    print(f"gone {gone}", flush=True)


if __name__ == "__main__":
    main()
