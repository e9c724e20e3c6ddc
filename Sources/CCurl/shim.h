#ifndef LARDER_CCURL_SHIM_H
#define LARDER_CCURL_SHIM_H

#include <curl/curl.h>

// Swift cannot call variadic C functions. Each shim is for options with one type of argument.

// Macros with a cast, which Swift does not import.
static const long LARDER_CURL_AUTH_BASIC = (long)CURLAUTH_BASIC;
static const long LARDER_CURL_AUTH_DIGEST = (long)CURLAUTH_DIGEST;

typedef size_t (*larder_curl_data_callback)(char *data, size_t size, size_t count, void *context);

static inline CURLcode larder_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode larder_curl_set_large(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode larder_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode larder_curl_set_pointer(CURL *handle, CURLoption option, const void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode larder_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode larder_curl_on_data(CURL *handle, CURLoption option, larder_curl_data_callback callback) {
    return curl_easy_setopt(handle, option, callback);
}

static inline CURLcode larder_curl_on_open_socket(CURL *handle, curl_opensocket_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, callback);
}

static inline CURLcode larder_curl_on_request(CURL *handle, curl_prereq_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, callback);
}

static inline CURLcode larder_curl_on_debug(CURL *handle, curl_debug_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_DEBUGFUNCTION, callback);
}

static inline CURLcode larder_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode larder_curl_get_socket(CURL *handle, CURLINFO info, curl_socket_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode larder_curl_get_large(CURL *handle, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode larder_curl_get_list(CURL *handle, CURLINFO info, struct curl_slist **value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLMcode larder_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode larder_curl_multi_on_socket(CURLM *multi, curl_socket_callback callback, void *context) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    return code == CURLM_OK ? curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback) : code;
}

static inline CURLMcode larder_curl_multi_on_timer(CURLM *multi, curl_multi_timer_callback callback, void *context) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
    return code == CURLM_OK ? curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback) : code;
}

static inline CURLSHcode larder_curl_share_set_long(CURLSH *share, CURLSHoption option, long value) {
    return curl_share_setopt(share, option, (int)value);
}

/// The result code of a finished transfer. Swift does not import the union of the message.
static inline CURLcode larder_curl_message_result(const CURLMsg *message) {
    return message->data.result;
}

/// The address to which a callback must open a socket. For IPv6, it is longer than the declared structure.
static inline const struct sockaddr *larder_curl_address(const struct curl_sockaddr *address) {
    return &address->addr;
}

#endif
