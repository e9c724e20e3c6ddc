#ifndef LARDER_COPENSSL_SHIM_H
#define LARDER_COPENSSL_SHIM_H

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

// EVP_EC_gen is a macro, which Swift does not import.
static inline EVP_PKEY *larder_new_signing_key(const char *curve) {
    return EVP_EC_gen(curve);
}

#endif
