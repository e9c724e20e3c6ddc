#ifndef LARDER_COPENSSL_SHIM_H
#define LARDER_COPENSSL_SHIM_H

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// EVP_EC_gen is a macro, which Swift does not import.
static inline EVP_PKEY *larder_new_signing_key(const char *curve) {
    return EVP_EC_gen(curve);
}

// Lists of certificates are macros.
static inline STACK_OF(X509) *larder_new_certificates(void) {
    return sk_X509_new_null();
}

// Adds a reference to a certificate. Returns 0 for lack of memory.
static inline int larder_add_certificate(STACK_OF(X509) *certificates, X509 *certificate) {
    return X509_add_cert(certificates, certificate, X509_ADD_FLAG_UP_REF);
}

static inline void larder_free_certificates(STACK_OF(X509) *certificates) {
    sk_X509_pop_free(certificates, X509_free);
}

#endif
