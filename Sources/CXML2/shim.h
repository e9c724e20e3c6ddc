#ifndef LARDER_CXML2_SHIM_H
#define LARDER_CXML2_SHIM_H

#include <libxml/HTMLparser.h>
#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/xmlerror.h>

static inline void larder_xml_say_nothing(void *context, const char *message, ...) {
    (void)context;
    (void)message;
}

/// Initializes libxml2, and discards the errors that it would write to stderr. Some of them are not associated with a parser, so
/// that parser options cannot suppress them. Call it before all other functions of libxml2.
static inline void larder_xml_set_up(void) {
    xmlInitParser();
    xmlThrDefSetGenericErrorFunc(NULL, larder_xml_say_nothing);
    xmlSetGenericErrorFunc(NULL, larder_xml_say_nothing);
}

/// Frees memory that libxml2 has allocated.
static inline void larder_xml_free(void *memory) { xmlFree(memory); }

#endif
