#ifndef LARDER_CTLS_SHIM_H
#define LARDER_CTLS_SHIM_H

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Macros and variadic functions of OpenSSL, which Swift does not import.

static inline EVP_PKEY *larder_tls_new_key(void) {
    return EVP_EC_gen("P-256");
}

static inline int larder_tls_add_extension(X509 *certificate, X509 *issuer, int kind, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    if (extension == NULL) return 0;
    int is_added = X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return is_added;
}

static inline int larder_tls_limit(SSL_CTX *context) {
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_num_tickets(context, 1);
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1;
}

static inline int larder_tls_show(SSL *session, X509 *certificate, EVP_PKEY *key, X509 *issuer) {
    return SSL_use_certificate(session, certificate) == 1 && SSL_use_PrivateKey(session, key) == 1
        && SSL_clear_chain_certs(session) == 1 && SSL_add1_chain_cert(session, issuer) == 1;
}

static inline void larder_tls_set_owner(SSL *session, void *owner) {
    SSL_set_app_data(session, owner);
}

static inline void *larder_tls_owner(const SSL *session) {
    return SSL_get_app_data(session);
}

// Creates a buffer for received bytes. Reading an empty buffer means "try again", not the end of the stream.
static inline BIO *larder_tls_new_inbox(void) {
    BIO *inbox = BIO_new(BIO_s_mem());
    if (inbox != NULL) BIO_set_mem_eof_return(inbox, -1);
    return inbox;
}

#endif
