#ifndef LARDER_CSTEMMER_SHIM_H
#define LARDER_CSTEMMER_SHIM_H

#include <libstemmer.h>

#endif
