// What a disk allows: each waiting entry of an outbox is moved twice, as it has to be to survive a kill at any moment
// (`sending` before the first byte goes out, `delivered` after the answer), each move a durable transaction of its own.
// One table, its indexes, nothing else: no request, no journal of attempts, no items.
//
// commits DATABASE        prints how many entries, and how many seconds they took
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void stop(const char *what, const char *why) {
    fprintf(stderr, "commits: %s: %s\n", what, why);
    exit(1);
}

static void run(sqlite3 *db, const char *sql) {
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) stop(sql, message);
}

static sqlite3_stmt *prepared(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) stop(sql, sqlite3_errmsg(db));
    return statement;
}

// Outside of BEGIN and COMMIT each statement is a transaction.
static void move(sqlite3 *db, sqlite3_stmt *update, sqlite3_int64 id) {
    sqlite3_bind_int64(update, 1, id);
    if (sqlite3_step(update) != SQLITE_DONE) stop("update", sqlite3_errmsg(db));
    if (sqlite3_changes(db) != 1) stop("update", "the entry is not in the state that it should be in");
    sqlite3_reset(update);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
    if (count != 2) stop("usage", "commits DATABASE");
    sqlite3 *db = NULL;
    if (sqlite3_open(arguments[1], &db) != SQLITE_OK) stop(arguments[1], sqlite3_errmsg(db));
    run(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA locking_mode = NORMAL;");
    sqlite3_stmt *next = prepared(db, "SELECT id FROM outbox WHERE state = 'queued' AND id > ? ORDER BY id LIMIT 1");
    sqlite3_stmt *begin = prepared(db,
        "UPDATE outbox SET state = 'sending', next_attempt_at = NULL, attempts = attempts + 1,"
        " last_attempt_at = '2026-01-01T00:00:00.000000Z' WHERE id = ? AND state = 'queued'");
    sqlite3_stmt *end = prepared(db,
        "UPDATE outbox SET state = 'delivered', ended_at = '2026-01-01T00:00:00.000001Z',"
        " item_id = '00000000-0000-4000-8000-000000000000' WHERE id = ? AND state = 'sending'");
    double began = now();
    long entries = 0;
    sqlite3_int64 id = 0;
    for (;; entries++) {
        sqlite3_bind_int64(next, 1, id);
        int code = sqlite3_step(next);
        if (code == SQLITE_DONE) break;
        if (code != SQLITE_ROW) stop("select", sqlite3_errmsg(db));
        id = sqlite3_column_int64(next, 0);
        sqlite3_reset(next);
        move(db, begin, id);
        move(db, end, id);
    }
    printf("%ld %.6f\n", entries, now() - began);
    sqlite3_finalize(next);
    sqlite3_finalize(begin);
    sqlite3_finalize(end);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}
