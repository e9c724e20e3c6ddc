#ifndef LARDER_CXML2_SHIM_H
#define LARDER_CXML2_SHIM_H

#include <libxml/HTMLparser.h>
#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>

#endif
