// The floor of a full pull: what the machine needs where nothing is checked. libcurl on one thread with one connection, simdjson,
// one prepared INSERT, commits every 100 ms. The caller makes the file, with the table and the indexes of a copy. No ties, no
// account, no coverage, no broken items, nobody who waits: what does more has to pay for it on top of this.
//
// floor SERVER_URL DATABASE [TOKEN_FILE]
#include <curl/curl.h>
#include <simdjson.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace {

constexpr int page_size = 100;
constexpr auto group = std::chrono::milliseconds(100);

// Parameters are in this order.
constexpr std::string_view fields[] = {"id",       "createdAt", "updatedAt", "type",     "title",         "url",
                                       "summary",  "tags",      "platform",  "category", "thumbnail_url", "duration",
                                       "file_path", "status",   "permalink"};
constexpr const char insert[] =
    "INSERT INTO item (id, created_at, updated_at, type, title, url, summary, tags, platform, category, thumbnail_url,"
    " duration, file_path, status, permalink) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO NOTHING";

[[noreturn]] void stop(const std::string &what, const char *why) {
    std::fprintf(stderr, "floor: %s: %s\n", what.c_str(), why);
    std::exit(1);
}

void run(sqlite3 *db, const char *sql) {
    if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) stop(sql, sqlite3_errmsg(db));
}

size_t receive(char *bytes, size_t, size_t count, void *body) {
    static_cast<std::string *>(body)->append(bytes, count);
    return count;
}

void bind(sqlite3_stmt *statement, int parameter, simdjson::ondemand::value value) {
    using simdjson::ondemand::json_type;
    auto text = [&](std::string_view text) {
        sqlite3_bind_text(statement, parameter, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    };
    switch (json_type(value.type())) {
        case json_type::string: return text(value.get_string());
        case json_type::number: sqlite3_bind_double(statement, parameter, value.get_double()); return;
        case json_type::null: sqlite3_bind_null(statement, parameter); return;
        default: return text(value.raw_json_token());
    }
}

void add(sqlite3 *db, sqlite3_stmt *statement, simdjson::ondemand::object item) {
    std::string tags;
    sqlite3_clear_bindings(statement);
    for (auto field : item) {
        std::string_view name = field.unescaped_key();
        for (size_t index = 0; index < std::size(fields); index++) {
            if (fields[index] != name) continue;
            int parameter = static_cast<int>(index) + 1;
            if (name == "tags") {
                std::string_view raw = simdjson::to_json_string(field.value().get_array());
                sqlite3_bind_text(statement, parameter, raw.data(), static_cast<int>(raw.size()), SQLITE_STATIC);
            } else {
                bind(statement, parameter, field.value());
            }
            break;
        }
    }
    if (sqlite3_step(statement) != SQLITE_DONE) stop("insert", sqlite3_errmsg(db));
    sqlite3_reset(statement);
}

curl_slist *authorization(const char *path) {
    std::string token;
    if (!std::getline(std::ifstream(path), token)) stop(path, "cannot be read");
    return curl_slist_append(nullptr, ("Authorization: Bearer " + token).c_str());
}

}  // namespace

int main(int count, char **arguments) {
    if (count < 3) stop("usage", "floor SERVER_URL DATABASE [TOKEN_FILE]");
    sqlite3 *db = nullptr;
    if (sqlite3_open(arguments[2], &db) != SQLITE_OK) stop(arguments[2], sqlite3_errmsg(db));
    run(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
    sqlite3_stmt *statement = nullptr;
    if (sqlite3_prepare_v2(db, insert, -1, &statement, nullptr) != SQLITE_OK) stop("prepare", sqlite3_errmsg(db));

    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURL *handle = curl_easy_init();
    std::string body;
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &body);
    curl_easy_setopt(handle, CURLOPT_FAILONERROR, 1L);
    if (count > 3) curl_easy_setopt(handle, CURLOPT_HTTPHEADER, authorization(arguments[3]));

    simdjson::ondemand::parser parser;
    std::string cursor;
    std::chrono::steady_clock::time_point opened;
    bool is_open = false;
    while (true) {
        std::string url = std::string(arguments[1]) + "/api/timeline?limit=" + std::to_string(page_size);
        if (!cursor.empty()) {
            char *escaped = curl_easy_escape(handle, cursor.c_str(), 0);
            url += std::string("&cursor=") + escaped;
            curl_free(escaped);
        }
        body.clear();
        curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
        if (CURLcode code = curl_easy_perform(handle)) stop(url, curl_easy_strerror(code));

        if (!is_open) {
            run(db, "BEGIN IMMEDIATE");
            opened = std::chrono::steady_clock::now();
            is_open = true;
        }
        try {
            body.reserve(body.size() + simdjson::SIMDJSON_PADDING);
            auto page = parser.iterate(body);
            for (auto item : page["items"].get_array()) add(db, statement, item);
            auto next = page["next_cursor"];
            cursor = next.is_null() ? "" : std::string(std::string_view(next.get_string()));
        } catch (const simdjson::simdjson_error &error) {
            stop(url, error.what());
        }
        bool is_last = cursor.empty();
        if (is_last || std::chrono::steady_clock::now() - opened >= group) {
            run(db, "COMMIT");
            is_open = false;
        }
        if (is_last) break;
    }
    sqlite3_finalize(statement);
    curl_easy_cleanup(handle);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}
