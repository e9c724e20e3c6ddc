"""A TCP relay that adds latency but does not limit the bandwidth: relay.py LISTEN-PORT TARGET-PORT DELAY-MS

In both directions, every byte arrives DELAY-MS after it was sent. The first bytes of a client arrive two delays later still: the TCP
handshake takes a round trip on a real network, but none on loopback.
"""

import asyncio
import collections
import sys

# Timers of the event loop are up to a millisecond late and never early. Half a millisecond less makes the mean delay right.
EARLY = 0.0005


class Lane:
    """One direction of a connection. Delivers bytes when their delay is over."""

    def __init__(self, loop, delay, not_before):
        self.loop, self.delay, self.not_before = loop, delay, not_before
        self.waiting = collections.deque()
        self.output = None
        self.timer = None

    def push(self, data):
        """Queues bytes, or None for the end of the stream."""
        due = max(self.loop.time(), self.not_before) + self.delay
        self.waiting.append((due, data))
        self.arm()

    def arm(self):
        if self.timer is None and self.waiting and self.output is not None:
            self.timer = self.loop.call_at(self.waiting[0][0] - EARLY, self.deliver)

    def deliver(self):
        self.timer = None
        now = self.loop.time()
        ready = []
        while self.waiting and self.waiting[0][0] - EARLY <= now:
            ready.append(self.waiting.popleft()[1])
        ended = bool(ready) and ready[-1] is None
        data = b"".join(piece for piece in ready if piece is not None)
        if not self.output.is_closing():
            if data:
                self.output.write(data)
            if ended:
                self.output.close()
        self.arm()


class End(asyncio.Protocol):
    """One of the two sockets of a relayed connection."""

    def __init__(self, sends, receives, opened=None):
        self.sends, self.receives, self.opened = sends, receives, opened

    def connection_made(self, transport):
        self.receives.output = transport
        self.receives.arm()
        if self.opened:
            self.opened()

    def data_received(self, data):
        self.sends.push(data)

    def eof_received(self):
        self.sends.push(None)
        return True

    def connection_lost(self, error):
        self.sends.push(None)


async def relay(port, target, delay):
    loop = asyncio.get_running_loop()
    tasks = set()

    def client():
        upward = Lane(loop, delay, loop.time() + 2 * delay)
        downward = Lane(loop, delay, 0)

        def connect():
            task = loop.create_task(
                loop.create_connection(lambda: End(sends=downward, receives=upward), "127.0.0.1", target))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        return End(sends=upward, receives=downward, opened=connect)

    server = await loop.create_server(client, "127.0.0.1", port, backlog=512)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(relay(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1000))
