// curl's type-checking macros wrap the variadic functions, which would hide them from the table below.
#define CURL_DISABLE_TYPECHECK 1
#include "CCurl.h"
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

// Every function of libcurl that is used, with the type that its header gives it.
#define FUNCTIONS(F) \
    F(global_init) F(version_info) F(free) F(slist_append) F(slist_free_all) \
    F(easy_init) F(easy_cleanup) F(easy_strerror) F(easy_header) F(easy_setopt) F(easy_getinfo) \
    F(multi_init) F(multi_cleanup) F(multi_add_handle) F(multi_remove_handle) F(multi_perform) F(multi_poll) \
    F(multi_info_read) F(multi_setopt) \
    F(url) F(url_cleanup) F(url_set) F(url_get)

#define POINTER(name) __typeof__(curl_##name) *name;
static struct { FUNCTIONS(POINTER) } curl;
static const char *failure;

static void load(void) {
    void *library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL);
#define FIND(name) && (curl.name = (__typeof__(curl.name))dlsym(library, "curl_" #name))
    if (library FUNCTIONS(FIND)) return;
    const char *reason = dlerror();
    // The text is dlerror's only until it is asked again.
    failure = strdup(reason ? reason : "libcurl.so.4");
    if (!failure) failure = "libcurl.so.4";
}

const char *prsnl_curl_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return failure;
}

CURLcode prsnl_global_init(long flags) { return curl.global_init(flags); }
const curl_version_info_data *prsnl_version_info(CURLversion age) { return curl.version_info(age); }
void prsnl_free(void *text) { curl.free(text); }
struct curl_slist *prsnl_slist_append(struct curl_slist *list, const char *line) { return curl.slist_append(list, line); }
void prsnl_slist_free_all(struct curl_slist *list) { curl.slist_free_all(list); }

CURL *prsnl_easy_init(void) { return curl.easy_init(); }
void prsnl_easy_cleanup(CURL *h) { curl.easy_cleanup(h); }
const char *prsnl_easy_strerror(CURLcode code) { return curl.easy_strerror(code); }
CURLHcode prsnl_easy_header(CURL *h, const char *name, size_t index, unsigned int origin, int request, struct curl_header **found) {
    return curl.easy_header(h, name, index, origin, request, found);
}

CURLM *prsnl_multi_init(void) { return curl.multi_init(); }
CURLMcode prsnl_multi_cleanup(CURLM *m) { return curl.multi_cleanup(m); }
CURLMcode prsnl_multi_add_handle(CURLM *m, CURL *h) { return curl.multi_add_handle(m, h); }
CURLMcode prsnl_multi_remove_handle(CURLM *m, CURL *h) { return curl.multi_remove_handle(m, h); }
CURLMcode prsnl_multi_perform(CURLM *m, int *running) { return curl.multi_perform(m, running); }
CURLMcode prsnl_multi_poll(CURLM *m, struct curl_waitfd *extra, unsigned int count, int milliseconds, int *ready) {
    return curl.multi_poll(m, extra, count, milliseconds, ready);
}
CURLMsg *prsnl_multi_info_read(CURLM *m, int *left) { return curl.multi_info_read(m, left); }

CURLU *prsnl_url(void) { return curl.url(); }
void prsnl_url_cleanup(CURLU *url) { curl.url_cleanup(url); }
CURLUcode prsnl_url_set(CURLU *url, CURLUPart part, const char *text, unsigned int flags) { return curl.url_set(url, part, text, flags); }
CURLUcode prsnl_url_get(CURLU *url, CURLUPart part, char **text, unsigned int flags) { return curl.url_get(url, part, text, flags); }

CURLcode prsnl_setopt_long(CURL *h, CURLoption o, long v) { return curl.easy_setopt(h, o, v); }
CURLcode prsnl_setopt_off(CURL *h, CURLoption o, curl_off_t v) { return curl.easy_setopt(h, o, v); }
CURLcode prsnl_setopt_pointer(CURL *h, CURLoption o, const void *v) { return curl.easy_setopt(h, o, v); }
CURLcode prsnl_setopt_string(CURL *h, CURLoption o, const char *v) { return curl.easy_setopt(h, o, v); }
CURLcode prsnl_setopt_data(CURL *h, CURLoption o, size_t (*f)(char *, size_t, size_t, void *)) { return curl.easy_setopt(h, o, f); }
CURLcode prsnl_setopt_header(CURL *h, size_t (*f)(char *, size_t, size_t, void *)) {
    return curl.easy_setopt(h, CURLOPT_HEADERFUNCTION, f);
}
CURLcode prsnl_setopt_prereq(CURL *h, int (*f)(void *, char *, char *, int, int)) {
    return curl.easy_setopt(h, CURLOPT_PREREQFUNCTION, f);
}
CURLcode prsnl_setopt_progress(CURL *h, int (*f)(void *, curl_off_t, curl_off_t, curl_off_t, curl_off_t)) {
    return curl.easy_setopt(h, CURLOPT_XFERINFOFUNCTION, f);
}
CURLcode prsnl_getinfo_long(CURL *h, CURLINFO i, long *v) { return curl.easy_getinfo(h, i, v); }
CURLcode prsnl_getinfo_off(CURL *h, CURLINFO i, curl_off_t *v) { return curl.easy_getinfo(h, i, v); }
CURLcode prsnl_getinfo_string(CURL *h, CURLINFO i, char **v) { return curl.easy_getinfo(h, i, v); }
CURLcode prsnl_getinfo_pointer(CURL *h, CURLINFO i, void **v) { return curl.easy_getinfo(h, i, v); }
CURLMcode prsnl_multi_setopt_long(CURLM *m, CURLMoption o, long v) { return curl.multi_setopt(m, o, v); }
CURLcode prsnl_msg_result(const CURLMsg *m) { return m->data.result; }
