// What Swift cannot import of sqlite3.h: casts in macros (SQLITE_TRANSIENT) and variadic functions; and what is short in C.
#ifndef PRSNL_CSQLITE_SHIM_H
#define PRSNL_CSQLITE_SHIM_H
#include <sqlite3.h>

static inline int prsnl_bind_text_copy(sqlite3_stmt *s, int i, const char *p, int n) {
    return sqlite3_bind_text(s, i, p, n, SQLITE_TRANSIENT);
}
static inline void prsnl_result_text_copy(sqlite3_context *c, const char *p, int n) {
    sqlite3_result_text(c, p, n, SQLITE_TRANSIENT);
}
// SQLITE_DBCONFIG_DEFENSIVE and the like take (int, int *): https://sqlite.org/c3ref/c_dbconfig_defensive.html
static inline int prsnl_db_config_flag(sqlite3 *db, int op, int on) {
    return sqlite3_db_config(db, op, on, (int *)0);
}
static inline int prsnl_config_flag(int op, int on) { return sqlite3_config(op, on); }
// https://sqlite.org/fts5.html#extending_fts5
static inline fts5_api *prsnl_fts5(sqlite3 *db) {
    fts5_api *api = 0;
    sqlite3_stmt *s = 0;
    if (sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &s, 0) == SQLITE_OK) {
        sqlite3_bind_pointer(s, 1, &api, "fts5_api_ptr", 0);
        sqlite3_step(s);
    }
    sqlite3_finalize(s);
    return api;
}
#endif
