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

/// What is wrong with a document's bytes is no matter, and is not written to stderr: some of libxml2's
/// complaints know of no parser whose options could tell. To be called before anything else of it.
static inline void larder_xml_set_up(void) {
    xmlInitParser();
    xmlThrDefSetGenericErrorFunc(NULL, larder_xml_say_nothing);
    xmlSetGenericErrorFunc(NULL, larder_xml_say_nothing);
}

#endif
