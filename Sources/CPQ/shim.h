#ifndef LARDER_CPQ_SHIM_H
#define LARDER_CPQ_SHIM_H

// The functions of libpq, declared by their ABI, which is stable since PostgreSQL 7.4. The library is loaded by name at run time,
// so that neither the build nor a store in a folder needs it.

/// `PGconn` and `PGresult`.
typedef struct larder_pq_connection larder_pq_connection;
typedef struct larder_pq_result larder_pq_result;

/// The beginning of `PGnotify`, with the members that are read.
typedef struct {
    char *channel;
    int process;
    char *text;
} larder_pq_notification;

typedef larder_pq_connection *(*larder_pq_connect)(const char *words);
typedef void (*larder_pq_finish)(larder_pq_connection *);
/// `PQstatus`, `PQsocket`, `PQconsumeInput`, `PQisBusy`, `PQflush`, `PQsetSingleRowMode`.
typedef int (*larder_pq_connection_call)(larder_pq_connection *);
/// `PQsetnonblocking`.
typedef int (*larder_pq_set_nonblocking)(larder_pq_connection *, int is_on);
typedef char *(*larder_pq_error_message)(const larder_pq_connection *);
typedef const char *(*larder_pq_parameter_status)(const larder_pq_connection *, const char *name);
/// `PQsendQuery`.
typedef int (*larder_pq_send_command)(larder_pq_connection *, const char *command);
/// `PQsendPrepare`.
typedef int (*larder_pq_send_preparation)(
    larder_pq_connection *, const char *name, const char *command, int count, const unsigned *types);
/// `PQsendQueryParams` and `PQsendQueryPrepared`.
typedef int (*larder_pq_send_values)(
    larder_pq_connection *, const char *command, int count, const unsigned *types, const char *const *values,
    const int *lengths, const int *formats, int result_format);
typedef int (*larder_pq_send_prepared)(
    larder_pq_connection *, const char *name, int count, const char *const *values, const int *lengths, const int *formats,
    int result_format);
/// `PQgetResult`.
typedef larder_pq_result *(*larder_pq_next_result)(larder_pq_connection *);
typedef larder_pq_notification *(*larder_pq_next_notification)(larder_pq_connection *);
typedef void (*larder_pq_free)(void *);
typedef void (*larder_pq_notice_processor)(void *context, const char *message);
/// `PQsetNoticeProcessor`. Its result, the previous processor, is not used.
typedef void *(*larder_pq_set_notice_processor)(larder_pq_connection *, larder_pq_notice_processor, void *context);

typedef void (*larder_pq_clear)(larder_pq_result *);
/// `PQresultStatus`, `PQntuples`.
typedef int (*larder_pq_result_call)(const larder_pq_result *);
typedef char *(*larder_pq_error_field)(const larder_pq_result *, int code);
typedef char *(*larder_pq_changed_row_count)(larder_pq_result *);
/// `PQgetlength`, `PQgetisnull`.
typedef int (*larder_pq_value_call)(const larder_pq_result *, int row, int column);
typedef char *(*larder_pq_value)(const larder_pq_result *, int row, int column);

#endif
