#ifndef LARDER_CPSL_SHIM_H
#define LARDER_CPSL_SHIM_H

#include <libpsl.h>

#endif
