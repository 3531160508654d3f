// The floor of a full pull, of a pull of texts, and of a sweep that finds nothing: what the machine needs where nothing is checked.
// libcurl on one thread with one connection, simdjson, one prepared INSERT, commits every 100 ms. The caller makes the file, with
// the table and the indexes of a copy. No ties, no account, no coverage, no broken items, no waiting user: what does more has to
// pay for it on top of this.
//
// floor SERVER_URL DATABASE [TOKEN_FILE [texts | sweep]]
#include <curl/curl.h>
#include <simdjson.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int page_size = 100;
constexpr auto group = std::chrono::milliseconds(100);

// What the server calls the columns of an item, in their order: `id` first.
std::vector<std::string> fields;

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

template <typename Member> void for_each_field(simdjson::ondemand::object item, Member member) {
    for (auto field : item) {
        std::string_view name = field.unescaped_key();
        for (size_t index = 0; index < fields.size(); index++) {
            if (fields[index] != name) continue;
            member(static_cast<int>(index), name, field.value());
            break;
        }
    }
}

void add(sqlite3 *db, sqlite3_stmt *statement, simdjson::ondemand::object item) {
    sqlite3_clear_bindings(statement);
    for_each_field(item, [&](int index, std::string_view name, simdjson::ondemand::value value) {
        if (name == "tags") {
            std::string_view raw = simdjson::to_json_string(value.get_array());
            sqlite3_bind_text(statement, index + 1, raw.data(), static_cast<int>(raw.size()), SQLITE_STATIC);
        } else {
            bind(statement, index + 1, value);
        }
    });
    if (sqlite3_step(statement) != SQLITE_DONE) stop("insert", sqlite3_errmsg(db));
    sqlite3_reset(statement);
}

/// The next row of the copy has to be the item.
void compare(sqlite3 *db, sqlite3_stmt *statement, simdjson::ondemand::object item) {
    using simdjson::ondemand::json_type;
    if (sqlite3_step(statement) != SQLITE_ROW) stop("compare", sqlite3_errmsg(db));
    for_each_field(item, [&](int column, std::string_view name, simdjson::ondemand::value value) {
        auto text = reinterpret_cast<const char *>(sqlite3_column_text(statement, column));
        std::string_view known(text ? text : "", static_cast<size_t>(sqlite3_column_bytes(statement, column)));
        bool is_same = true;
        switch (json_type(value.type())) {
            case json_type::string: {
                std::string_view said = value.get_string();
                // Up to the seconds, times are written alike.
                size_t most = name.substr(name.size() - 2) == "At" ? 19 : std::string_view::npos;
                is_same = known.substr(0, most) == said.substr(0, most);
                break;
            }
            case json_type::number: is_same = sqlite3_column_double(statement, column) == value.get_double(); break;
            case json_type::null: is_same = text == nullptr; break;
            // The copy has them sorted.
            default: is_same = known.size() == std::string_view(simdjson::to_json_string(value)).size();
        }
        if (!is_same) stop("compare", std::string(name).c_str());
    });
}

curl_slist *authorization(const char *path) {
    std::string token;
    if (!std::getline(std::ifstream(path), token)) stop(path, "cannot be read");
    return curl_slist_append(nullptr, ("Authorization: Bearer " + token).c_str());
}

struct Server {
    CURL *handle;
    std::string url;
    std::string &body;
    simdjson::ondemand::parser parser{};

    simdjson::ondemand::document get(const std::string &path) {
        body.clear();
        std::string whole = url + path;
        curl_easy_setopt(handle, CURLOPT_URL, whole.c_str());
        if (CURLcode code = curl_easy_perform(handle)) stop(whole, curl_easy_strerror(code));
        body.reserve(body.size() + simdjson::SIMDJSON_PADDING);
        return parser.iterate(body);
    }
};

/// A transaction that is committed every so often.
class Group {
public:
    explicit Group(sqlite3 *db) : db(db) {}

    void begin() {
        if (is_open) return;
        run(db, "BEGIN IMMEDIATE");
        opened = std::chrono::steady_clock::now();
        is_open = true;
    }

    void end(bool is_last) {
        if (!is_open || (!is_last && std::chrono::steady_clock::now() - opened < group)) return;
        run(db, "COMMIT");
        is_open = false;
    }

private:
    sqlite3 *db;
    std::chrono::steady_clock::time_point opened;
    bool is_open = false;
};

sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = nullptr;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, nullptr) != SQLITE_OK) stop(sql, sqlite3_errmsg(db));
    return statement;
}

void learn_fields(sqlite3 *db) {
    sqlite3_stmt *names = prepare(db, "SELECT CASE name WHEN 'created_at' THEN 'createdAt' WHEN 'updated_at' THEN 'updatedAt'"
                                      " ELSE name END FROM pragma_table_info('item')");
    while (sqlite3_step(names) == SQLITE_ROW)
        fields.emplace_back(reinterpret_cast<const char *>(sqlite3_column_text(names, 0)));
    sqlite3_finalize(names);
}

template <typename Item> void read_pages(sqlite3 *db, Server &server, Item each) {
    Group transaction(db);
    std::string cursor;
    do {
        std::string path = "/api/timeline?limit=" + std::to_string(page_size);
        if (!cursor.empty()) {
            char *escaped = curl_easy_escape(server.handle, cursor.c_str(), 0);
            path += std::string("&cursor=") + escaped;
            curl_free(escaped);
        }
        auto page = server.get(path);
        transaction.begin();
        for (auto item : page["items"].get_array()) each(item);
        auto next = page["next_cursor"];
        cursor = next.is_null() ? "" : std::string(std::string_view(next.get_string()));
        transaction.end(cursor.empty());
    } while (!cursor.empty());
}

void pull_items(sqlite3 *db, Server &server) {
    std::string values = "?";
    for (size_t index = 1; index < fields.size(); index++) values += ", ?";
    std::string insert = "INSERT INTO item VALUES (" + values + ") ON CONFLICT (id) DO NOTHING";
    sqlite3_stmt *statement = prepare(db, insert.c_str());
    read_pages(db, server, [&](simdjson::ondemand::object item) { add(db, statement, item); });
    sqlite3_finalize(statement);
}

/// Compares a copy with its server. One statement for all, so that it never looks for a row.
void sweep(sqlite3 *db, Server &server) {
    sqlite3_stmt *statement = prepare(db, "SELECT * FROM item WHERE deleted_at IS NULL ORDER BY created_at DESC");
    read_pages(db, server, [&](simdjson::ondemand::object item) { compare(db, statement, item); });
    sqlite3_finalize(statement);
}

/// Each text by itself, the newest first, into a file that has the items.
void pull_texts(sqlite3 *db, Server &server) {
    std::vector<std::string> ids;
    sqlite3_stmt *due = prepare(db, "SELECT id FROM item WHERE text_for IS NULL ORDER BY created_at DESC");
    while (sqlite3_step(due) == SQLITE_ROW) ids.emplace_back(reinterpret_cast<const char *>(sqlite3_column_text(due, 0)));
    sqlite3_finalize(due);
    sqlite3_stmt *store = prepare(db, "INSERT INTO item_body (item_id, version, fetched_at, is_transcription, content)"
                                      " SELECT id, updated_at, updated_at, 0, ?2 FROM item WHERE id = ?1");
    sqlite3_stmt *mark = prepare(db, "UPDATE item SET text_for = updated_at WHERE id = ?");
    Group transaction(db);
    for (const std::string &id : ids) {
        auto answer = server.get("/api/items/" + id);
        transaction.begin();
        sqlite3_bind_text(store, 1, id.c_str(), -1, SQLITE_STATIC);
        bind(store, 2, answer["content"]);
        if (sqlite3_step(store) != SQLITE_DONE) stop("insert", sqlite3_errmsg(db));
        sqlite3_reset(store);
        sqlite3_bind_text(mark, 1, id.c_str(), -1, SQLITE_STATIC);
        if (sqlite3_step(mark) != SQLITE_DONE) stop("update", sqlite3_errmsg(db));
        sqlite3_reset(mark);
        transaction.end(false);
    }
    transaction.end(true);
    sqlite3_finalize(store);
    sqlite3_finalize(mark);
}

}  // namespace

int main(int count, char **arguments) {
    if (count < 3) stop("usage", "floor SERVER_URL DATABASE [TOKEN_FILE [texts | sweep]]");
    sqlite3 *db = nullptr;
    if (sqlite3_open(arguments[2], &db) != SQLITE_OK) stop(arguments[2], sqlite3_errmsg(db));
    run(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
    learn_fields(db);

    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURL *handle = curl_easy_init();
    std::string body;
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &body);
    curl_easy_setopt(handle, CURLOPT_FAILONERROR, 1L);
    if (count > 3) curl_easy_setopt(handle, CURLOPT_HTTPHEADER, authorization(arguments[3]));

    Server server{handle, arguments[1], body};
    try {
        std::string_view what = count > 4 ? arguments[4] : "";
        what == "texts" ? pull_texts(db, server) : what == "sweep" ? sweep(db, server) : pull_items(db, server);
    } catch (const simdjson::simdjson_error &error) {
        stop(arguments[1], error.what());
    }
    curl_easy_cleanup(handle);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}
