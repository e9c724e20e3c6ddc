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

// Glibc's module map does not include these headers. accept4 and fallocate need _GNU_SOURCE, which would change the members of fd_set.

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

// Frees the disk space of a part of a file, which then reads as zeros.
static inline int larder_punch_hole(int file, off_t offset, off_t length) {
    return fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length);
}

int sync_file_range(int file, off_t offset, off_t length, unsigned flags);

// Starts writing a part of a file to the disk without waiting (SYNC_FILE_RANGE_WRITE of linux/fs.h).
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

// The time in milliseconds since the last acknowledgement from the peer of a TCP connection, if sent data or more than one probe
// is unacknowledged; else 0. Also 0 for a socket that is not TCP.
static inline unsigned larder_socket_silence(int socket) {
    struct tcp_info info = {0};
    socklen_t length = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return 0;
    return info.tcpi_unacked > 0 || info.tcpi_probes > 1 ? info.tcpi_last_ack_recv : 0;
}

#endif
