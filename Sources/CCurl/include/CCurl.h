// libcurl for Swift. It is not linked but loaded before the first request: with the thirty libraries below it, it takes half
// of the time of a command that makes no request. Each function is libcurl's of the same name, with `curl` for `prsnl`.
#ifndef PRSNL_CCURL_H
#define PRSNL_CCURL_H
#include <curl/curl.h>

// Loads libcurl, once for the process. Before any other function of this header.
// Returns why that cannot be done: dlerror(3). NULL when all are there.
const char *prsnl_curl_load(void);

CURLcode prsnl_global_init(long flags);
const curl_version_info_data *prsnl_version_info(CURLversion age);
void prsnl_free(void *text);
struct curl_slist *prsnl_slist_append(struct curl_slist *list, const char *line);
void prsnl_slist_free_all(struct curl_slist *list);

CURL *prsnl_easy_init(void);
void prsnl_easy_cleanup(CURL *h);
const char *prsnl_easy_strerror(CURLcode code);
CURLHcode prsnl_easy_header(CURL *h, const char *name, size_t index, unsigned int origin, int request, struct curl_header **found);

CURLM *prsnl_multi_init(void);
CURLMcode prsnl_multi_cleanup(CURLM *m);
CURLMcode prsnl_multi_add_handle(CURLM *m, CURL *h);
CURLMcode prsnl_multi_remove_handle(CURLM *m, CURL *h);
CURLMcode prsnl_multi_perform(CURLM *m, int *running);
CURLMcode prsnl_multi_poll(CURLM *m, struct curl_waitfd *extra, unsigned int count, int milliseconds, int *ready);
CURLMsg *prsnl_multi_info_read(CURLM *m, int *left);

CURLU *prsnl_url(void);
void prsnl_url_cleanup(CURLU *url);
CURLUcode prsnl_url_set(CURLU *url, CURLUPart part, const char *text, unsigned int flags);
CURLUcode prsnl_url_get(CURLU *url, CURLUPart part, char **text, unsigned int flags);

// curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt are variadic, which Swift cannot import: one function per argument type.
CURLcode prsnl_setopt_long(CURL *h, CURLoption o, long v);
CURLcode prsnl_setopt_off(CURL *h, CURLoption o, curl_off_t v);
CURLcode prsnl_setopt_pointer(CURL *h, CURLoption o, const void *v);
CURLcode prsnl_setopt_string(CURL *h, CURLoption o, const char *v);
CURLcode prsnl_setopt_data(CURL *h, CURLoption o, size_t (*f)(char *, size_t, size_t, void *));
CURLcode prsnl_setopt_header(CURL *h, size_t (*f)(char *, size_t, size_t, void *));
CURLcode prsnl_setopt_prereq(CURL *h, int (*f)(void *, char *, char *, int, int));
CURLcode prsnl_setopt_progress(CURL *h, int (*f)(void *, curl_off_t, curl_off_t, curl_off_t, curl_off_t));
CURLcode prsnl_getinfo_long(CURL *h, CURLINFO i, long *v);
CURLcode prsnl_getinfo_off(CURL *h, CURLINFO i, curl_off_t *v);
CURLcode prsnl_getinfo_string(CURL *h, CURLINFO i, char **v);
CURLcode prsnl_getinfo_pointer(CURL *h, CURLINFO i, void **v);
CURLMcode prsnl_multi_setopt_long(CURLM *m, CURLMoption o, long v);
// CURLMsg holds an anonymous union that Swift imports without its members' types.
CURLcode prsnl_msg_result(const CURLMsg *m);
#endif
