// What Swift cannot import of sqlite3.h: casts in macros (SQLITE_TRANSIENT) and variadic functions.
#ifndef PRSNL_CSQLITE_SHIM_H
#define PRSNL_CSQLITE_SHIM_H
#include <sqlite3.h>

static inline int prsnl_bind_text_copy(sqlite3_stmt *s, int i, const char *p, int n) {
    return sqlite3_bind_text(s, i, p, n, SQLITE_TRANSIENT);
}
// SQLITE_DBCONFIG_DEFENSIVE and the like take (int, int *): https://sqlite.org/c3ref/c_dbconfig_defensive.html
static inline int prsnl_db_config_flag(sqlite3 *db, int op, int on) {
    return sqlite3_db_config(db, op, on, (int *)0);
}
static inline int prsnl_config_flag(int op, int on) { return sqlite3_config(op, on); }
#endif
