// The floor of a full pull: what libcurl and SQLite cost when nothing is checked. One handle, kept alive; each page goes
// into SQLite as it came, which takes it apart with json_each; commits are grouped as prsnld groups them. No ties, no
// identity, no coverage, no broken items: whoever does more has to pay for it on top of this.
//
// floor SERVER_URL DATABASE [TOKEN_FILE]
#include <curl/curl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GROUP_MILLISECONDS = 100, PAGE_SIZE = 100 };

// The same columns and the same index as the table of the copy.
static const char SCHEMA[] =
    "CREATE TABLE item (id TEXT NOT NULL UNIQUE, created_at TEXT NOT NULL, updated_at TEXT, type TEXT, title TEXT,"
    " url TEXT, summary TEXT, content TEXT, tags TEXT, platform TEXT, category TEXT, thumbnail_url TEXT,"
    " duration REAL, file_path TEXT, status TEXT, permalink TEXT, extra TEXT, deleted_at TEXT) STRICT;"
    "CREATE INDEX item_by_time ON item (created_at) WHERE deleted_at IS NULL;";

static const char UPSERT[] =
    "INSERT INTO item (id, created_at, updated_at, type, title, url, summary, tags, platform, category,"
    " thumbnail_url, duration, file_path, status, permalink)"
    " SELECT value->>'id', value->>'createdAt', value->>'updatedAt', value->>'type', value->>'title', value->>'url',"
    " value->>'summary', value->>'tags', value->>'platform', value->>'category', value->>'thumbnail_url',"
    " value->>'duration', value->>'file_path', value->>'status', value->>'permalink'"
    " FROM json_each(?1, '$.items') WHERE true"
    " ON CONFLICT (id) DO UPDATE SET created_at = excluded.created_at, updated_at = excluded.updated_at,"
    " type = excluded.type, title = excluded.title, url = excluded.url, summary = excluded.summary,"
    " tags = excluded.tags, platform = excluded.platform, category = excluded.category,"
    " thumbnail_url = excluded.thumbnail_url, duration = excluded.duration, file_path = excluded.file_path,"
    " status = excluded.status, permalink = excluded.permalink";

struct body {
    char *bytes;
    size_t count, capacity;
};

static void stop(const char *what, const char *why) {
    fprintf(stderr, "floor: %s: %s\n", what, why);
    exit(1);
}

static size_t receive(char *bytes, size_t size, size_t count, void *context) {
    struct body *body = context;
    size_t more = size * count;
    if (body->count + more + 1 > body->capacity) {
        body->capacity = 2 * (body->count + more + 1);
        body->bytes = realloc(body->bytes, body->capacity);
        if (!body->bytes) stop("memory", "none left");
    }
    memcpy(body->bytes + body->count, bytes, more);
    body->count += more;
    body->bytes[body->count] = 0;
    return more;
}

static void run(sqlite3 *db, const char *sql) {
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) stop(sql, message);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

// The member stands at the end of the page, behind the items. False where it is null.
static bool next_cursor(const struct body *body, char *cursor, size_t capacity) {
    static const char name[] = "\"next_cursor\":";
    size_t tail = body->count < 200 ? body->count : 200;
    const char *at = strstr(body->bytes + body->count - tail, name);
    if (!at) stop("page", "no next_cursor at its end");
    for (at += sizeof name - 1; *at == ' '; at++) {}
    if (*at != '"') return false;
    const char *end = strchr(++at, '"');
    if (!end || (size_t)(end - at) >= capacity) stop("page", "next_cursor is no short text");
    memcpy(cursor, at, (size_t)(end - at));
    cursor[end - at] = 0;
    return true;
}

static struct curl_slist *authorization(const char *path) {
    char token[4096], header[4200];
    FILE *file = fopen(path, "r");
    if (!file || !fgets(token, sizeof token, file)) stop(path, "cannot be read");
    fclose(file);
    token[strcspn(token, "\r\n")] = 0;
    snprintf(header, sizeof header, "Authorization: Bearer %s", token);
    return curl_slist_append(NULL, header);
}

int main(int count, char **arguments) {
    if (count < 3) stop("usage", "floor SERVER_URL DATABASE [TOKEN_FILE]");
    sqlite3 *db = NULL;
    if (sqlite3_open(arguments[2], &db) != SQLITE_OK) stop(arguments[2], sqlite3_errmsg(db));
    run(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
    run(db, SCHEMA);
    sqlite3_stmt *upsert = NULL;
    if (sqlite3_prepare_v2(db, UPSERT, -1, &upsert, NULL) != SQLITE_OK) stop("prepare", sqlite3_errmsg(db));

    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURL *handle = curl_easy_init();
    struct body body = {0};
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &body);
    curl_easy_setopt(handle, CURLOPT_FAILONERROR, 1L);
    if (count > 3) curl_easy_setopt(handle, CURLOPT_HTTPHEADER, authorization(arguments[3]));

    char cursor[64] = "", url[1024];
    bool more = true;
    double opened = 0;
    while (more) {
        char *escaped = curl_easy_escape(handle, cursor, 0);
        snprintf(url, sizeof url, "%s/api/timeline?limit=%d%s%s", arguments[1], PAGE_SIZE,
            *cursor ? "&cursor=" : "", escaped);
        curl_free(escaped);
        body.count = 0;
        curl_easy_setopt(handle, CURLOPT_URL, url);
        CURLcode code = curl_easy_perform(handle);
        if (code != CURLE_OK) stop(url, curl_easy_strerror(code));

        if (opened == 0) {
            run(db, "BEGIN IMMEDIATE");
            opened = now();
        }
        sqlite3_bind_text(upsert, 1, body.bytes, (int)body.count, SQLITE_STATIC);
        if (sqlite3_step(upsert) != SQLITE_DONE) stop("upsert", sqlite3_errmsg(db));
        sqlite3_reset(upsert);
        if (now() - opened >= GROUP_MILLISECONDS) {
            run(db, "COMMIT");
            opened = 0;
        }
        more = next_cursor(&body, cursor, sizeof cursor);
    }
    if (opened != 0) run(db, "COMMIT");
    sqlite3_finalize(upsert);
    curl_easy_cleanup(handle);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}
