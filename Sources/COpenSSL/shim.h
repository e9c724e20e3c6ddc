#ifndef LARDER_COPENSSL_SHIM_H
#define LARDER_COPENSSL_SHIM_H

#include <openssl/evp.h>

#endif
