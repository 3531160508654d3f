// Libraries for the formats of other programs. None is linked: each is loaded by the first command that needs it, because only
// `import` and `export` do.
#ifndef PRSNL_CFORMATS_H
#define PRSNL_CFORMATS_H
#include <stddef.h>

// Each loads its library, once for the process. Returns why that cannot be done (dlerror(3)), NULL when it is there.
const char *prsnl_html_load(void);
const char *prsnl_markdown_load(void);
const char *prsnl_zlib_load(void);

// What libxml2 reads of a page, in its order: the parser's own elements for what is malformed included. `attributes` alternates
// names and values, and ends with NULL; it may be NULL.
typedef struct {
    // Returns false to end the reading.
    _Bool (*start)(void *context, const char *name, const char *const *attributes);
    void (*end)(void *context, const char *name);
    void (*text)(void *context, const char *bytes, int count);
} prsnl_html_events;

// Reads a whole text as HTML (libxml2's SAX1 events), UTF-8, from memory, without entities from elsewhere or the network.
// Returns false where there is no memory.
_Bool prsnl_html_read(const char *bytes, size_t count, const prsnl_html_events *events, void *context);

// CommonMark, with GitHub's tables and struck words, as HTML (md4c): `output` is called with each part.
// Returns false where there is no memory.
_Bool prsnl_markdown_html(
    const char *bytes, unsigned count, void (*output)(const char *bytes, unsigned count, void *context), void *context);

// Raw deflate (RFC 1951) of what is one entry of a ZIP file. `room` is at least `prsnl_deflate_bound`.
// Returns the number of bytes; 0 where there is no memory.
size_t prsnl_deflate_bound(size_t count);
size_t prsnl_deflate(const void *bytes, size_t count, void *room, size_t size);
unsigned long prsnl_crc32(const void *bytes, size_t count);
#endif
