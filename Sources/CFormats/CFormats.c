#include "CFormats.h"
#include <dlfcn.h>
#include <libxml/HTMLparser.h>
#include <md4c-html.h>
#include <pthread.h>
#include <string.h>
#include <zlib.h>

// The functions of a library that are used, each with the type that its header gives it, and `LOAD`, which finds them.
#define POINTER(name) __typeof__(name) *name;
#define FIND(name) && (found->name = (__typeof__(found->name))dlsym(library, #name))
#define LIBRARY(library_name, file, FUNCTIONS, LOAD)                       \
    static struct { FUNCTIONS(POINTER) } library_name;                     \
    static const char *library_name##_failure;                             \
    static void load_##library_name(void) {                                \
        void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);              \
        __typeof__(library_name) *found = &library_name;                   \
        if (library FUNCTIONS(FIND)) return;                               \
        const char *reason = dlerror();                                    \
        library_name##_failure = strdup(reason ? reason : file);           \
        if (!library_name##_failure) library_name##_failure = file;        \
    }                                                                      \
    const char *LOAD(void) {                                               \
        static pthread_once_t once = PTHREAD_ONCE_INIT;                    \
        pthread_once(&once, load_##library_name);                          \
        return library_name##_failure;                                     \
    }

#define HTML(F) F(htmlCreatePushParserCtxt) F(htmlCtxtUseOptions) F(htmlParseChunk) F(htmlFreeParserCtxt) F(xmlStopParser)
#define MARKDOWN(F) F(md_html)
#define ZLIB(F) F(deflateInit2_) F(deflate) F(deflateEnd) F(deflateBound) F(crc32)

// The name of a library is that of the version whose header is used: libxml2 2.14 changed its structures.
#if LIBXML_VERSION >= 21400
LIBRARY(html, "libxml2.so.16", HTML, prsnl_html_load)
#else
LIBRARY(html, "libxml2.so.2", HTML, prsnl_html_load)
#endif
LIBRARY(markdown, "libmd4c-html.so.0", MARKDOWN, prsnl_markdown_load)
LIBRARY(zlib, "libz.so.1", ZLIB, prsnl_zlib_load)

typedef struct {
    const prsnl_html_events *events;
    void *context;
    htmlParserCtxtPtr parser;
} html_reading;

static void html_start(void *reading, const xmlChar *name, const xmlChar **attributes) {
    html_reading *r = reading;
    if (!r->events->start(r->context, (const char *)name, (const char *const *)attributes)) html.xmlStopParser(r->parser);
}
static void html_end(void *reading, const xmlChar *name) {
    html_reading *r = reading;
    r->events->end(r->context, (const char *)name);
}
static void html_text(void *reading, const xmlChar *bytes, int count) {
    html_reading *r = reading;
    r->events->text(r->context, (const char *)bytes, count);
}

_Bool prsnl_html_read(const char *bytes, size_t count, const prsnl_html_events *events, void *context) {
    htmlSAXHandler handler = {0};
    handler.startElement = html_start;
    handler.endElement = html_end;
    handler.characters = html_text;
    handler.ignorableWhitespace = html_text;
    handler.cdataBlock = html_text;
    html_reading reading = {events, context, NULL};
    htmlParserCtxtPtr parser = html.htmlCreatePushParserCtxt(&handler, &reading, NULL, 0, NULL, XML_CHAR_ENCODING_UTF8);
    if (!parser) return 0;
    reading.parser = parser;
    html.htmlCtxtUseOptions(parser, HTML_PARSE_NONET | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING);
    // A text that begins with the end of an element would be given up.
    html.htmlParseChunk(parser, "<div>", 5, 0);
    // A chunk's size is an int.
    for (size_t at = 0; at < count && !parser->disableSAX; at += 1 << 16) {
        size_t left = count - at;
        html.htmlParseChunk(parser, bytes + at, left < 1 << 16 ? (int)left : 1 << 16, 0);
    }
    html.htmlParseChunk(parser, NULL, 0, 1);
    html.htmlFreeParserCtxt(parser);
    return 1;
}

_Bool prsnl_markdown_html(
    const char *bytes, unsigned count, void (*output)(const char *bytes, unsigned count, void *context), void *context) {
    return markdown.md_html(bytes, count, output, context, MD_DIALECT_GITHUB, 0) == 0;
}

size_t prsnl_deflate_bound(size_t count) { return zlib.deflateBound(NULL, count); }

size_t prsnl_deflate(const void *bytes, size_t count, void *room, size_t size) {
    z_stream stream = {0};
    // Negative window bits: raw deflate, without zlib's header (zlib.h).
    if (zlib.deflateInit2_(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, sizeof stream) != Z_OK) return 0;
    stream.next_in = (Bytef *)bytes;
    stream.avail_in = (uInt)count;
    stream.next_out = room;
    stream.avail_out = (uInt)size;
    int result = zlib.deflate(&stream, Z_FINISH);
    size_t written = stream.total_out;
    zlib.deflateEnd(&stream);
    return result == Z_STREAM_END ? written : 0;
}

unsigned long prsnl_crc32(const void *bytes, size_t count) { return zlib.crc32(0, bytes, (uInt)count); }
