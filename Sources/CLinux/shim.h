#ifndef LARDER_CLINUX_SHIM_H
#define LARDER_CLINUX_SHIM_H

#include <linux/falloc.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

// Glibc's module map leaves these headers out. accept4 and fallocate hide behind _GNU_SOURCE, which would change fd_set's members.

int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags);

static inline int larder_accept_nonblocking(int listener) {
    return accept4(listener, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static inline ssize_t larder_send_two(
    int socket, const void *first, size_t first_count, const void *second, size_t second_count, int flags) {
    struct iovec parts[2] = {{(void *)first, first_count}, {(void *)second, second_count}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    return sendmsg(socket, &message, flags);
}

int fallocate(int file, int mode, off_t offset, off_t length);

// Gives the room of a part of a file back to the disk; the part reads as zeros from then on.
static inline int larder_punch_hole(int file, off_t offset, off_t length) {
    return fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length);
}

int sync_file_range(int file, off_t offset, off_t length, unsigned flags);

// The disk begins to write a part of a file; nobody waits for it (SYNC_FILE_RANGE_WRITE of linux/fs.h).
static inline int larder_begin_writing(int file, off_t offset, off_t length) {
    return sync_file_range(file, offset, length, 2);
}

static inline int larder_epoll_add(int epoll, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data = {.u64 = token}};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

static inline int larder_epoll_change(int epoll, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data = {.u64 = token}};
    return epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event);
}

static inline uint64_t larder_epoll_token(const struct epoll_event *event) {
    return event->data.u64;
}

static inline uint32_t larder_epoll_flags(const struct epoll_event *event) {
    return event->events;
}

// For how many milliseconds nothing has come from the other end of a connection that owes an answer to what was sent, or to
// questions whether it is still there; 0 where it owes none, or no network is between.
static inline unsigned larder_socket_silence(int socket) {
    struct tcp_info info = {0};
    socklen_t length = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return 0;
    return info.tcpi_unacked > 0 || info.tcpi_probes > 1 ? info.tcpi_last_ack_recv : 0;
}

#endif
