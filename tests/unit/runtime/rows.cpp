#include "rows.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fixtures.hpp"
#include "stored_form.hpp"
#include "support/places.hpp"

namespace {

using api::Json;
namespace fs = std::filesystem;

// A placeholder in a list's items, replaced by their position.
Json numbered(const Json& value, std::size_t position) {
    if (value.is_string()) {
        std::string text(value.as_string());
        for (auto at = text.find('#'); at != text.npos; at = text.find('#', at))
            text.replace(at, 1, std::to_string(position));
        return text;
    }
    if (!value.is_object()) return value;
    Json object = Json::object();
    for (const auto& [key, member] : value.members()) object[key] = numbered(member, position);
    return object;
}

// {$text: 3} -> "aaa" and so on.
Json expanded(const Json& value) {
    if (value.is_array()) {
        Json list = Json::array();
        for (const Json& item : value.items()) list.push_back(expanded(item));
        return list;
    }
    if (!value.is_object()) return value;
    if (const Json* length = value.find("$text"))
        return std::string(value["before"].as_string()) +
               std::string(static_cast<std::size_t>(length->int_or(0)), 'a');
    if (const Json* count = value.find("$list")) {
        Json list = Json::array();
        const Json item = expanded(value["of"]);
        for (std::size_t i = 0; i < static_cast<std::size_t>(count->int_or(0)); ++i)
            list.push_back(numbered(item, i));
        return list;
    }
    if (const Json* count = value.find("$map")) {
        Json map = Json::object();
        for (std::size_t i = 0; i < static_cast<std::size_t>(count->int_or(0)); ++i)
            map["k" + std::to_string(i)] = value["of"];
        return map;
    }
    Json object = Json::object();
    for (const auto& [key, member] : value.members()) object[key] = expanded(member);
    return object;
}

// Returns the rows of one file for one kind.
class Table {
public:
    Table(std::string name, const Json& data, std::string_view kind)
        : name_(std::move(name)), data_(data), base_(data["base"]) {
        base_["kind"] = kind;
        base_["metadata"].erase("namespace");
        if (kind.substr(0, 7) != "Cluster") base_["metadata"]["namespace"] = "default";
        base_["metadata"]["uid"] = "job-uid";
    }

    Row row(const Json& source) const {
        Row row = {.name = name_ + ": " + std::string(source["name"].as_string())};
        const Json* before = source.find("before");
        Json old_object = changed(base_, {}, before ? *before : Json());
        old_object = change(old_object, source["between"]);
        row.sent = change(old_object, source);
        row.object = stored_form(row.sent);
        if (before) row.old_object = stored_form(old_object);
        if (const Json* status = source.find("status"))
            for (Json* object : {&row.sent, &row.object, &row.old_object})
                (*object)["status"] = data_["statuses"][status->as_string()];
        if (const Json* runtime = data_.find("runtime"))
            row.runtime = stored_form(changed(*runtime, {}, source["runtime"]));
        if (const Json* job_set = source.find("jobSet"))
            row.job_set = api::JobSet{.meta = {.controller_uid = "job-uid"},
                                      .replicated_jobs = api::parse_jobs_status(*job_set)};
        row.loses = source["loses"].as_string();
        row.asked = !source.contains("refused") && data_["target"].as_string() != "status";
        expect(row, source);
        if (source.contains("refused"))
            row.refused =
                std::string(source["reason"].as_string()) + " " + full(source["refused"].as_string());
        row.refused_because = source["because"].as_string();
        for (const auto& [path, value] : source["stored"].members())
            row.stored.emplace_back(full(path), value);
        return row;
    }

private:
    // Reads the webhook's part; with `same` it has the schema's error.
    void expect(Row& row, const Json& source) const {
        const Json* webhook = source.find("webhook");
        if (!webhook) return;
        row.asked = true;
        const Json& says = webhook->as_string() == "same" ? source : *webhook;
        row.because = says["because"].as_string();
        row.rule = says["rule"].as_string();
        row.warns = says["warns"].as_string();
        const Json& refused = says["refused"];
        for (const Json& field : refused.is_array() ? refused.items() : Json::Array{refused})
            if (!field.is_null())
                row.errors += (row.errors.empty() ? "" : ", ") + std::string(says["reason"].as_string()) +
                              " " + full(field.as_string());
    }

    Json change(const Json& object, const Json& source) const {
        return changed(object, source["remove"].items(), source["set"]);
    }

    Json changed(Json object, const std::vector<Json>& removals, const Json& values) const {
        for (const Json& path : removals) {
            const std::string where = full(path.as_string());
            const auto dot = where.rfind('.');
            at(object, where.substr(0, dot == where.npos ? 0 : dot)).erase(where.substr(dot + 1));
        }
        for (const auto& [path, value] : values.members()) at(object, full(path)) = expanded(value);
        return object;
    }

    // "$name" at the start of a path stands for a longer one.
    std::string full(std::string_view path) const {
        if (path.substr(0, 1) != "$") return std::string(path);
        const auto end = std::min(path.find_first_of(".["), path.size());
        return full(data_["paths"][path.substr(1, end - 1)].as_string()) + std::string(path.substr(end));
    }

    std::string name_;
    const Json& data_;
    Json base_;
};

}  // namespace

Json value_at(const Json& object, std::string_view path) {
    const Json* at = &object;
    while (!path.empty()) {
        const auto end = std::min(path.find_first_of(".["), path.size());
        at = &(*at)[path.substr(0, end)];
        path.remove_prefix(end);
        while (path.starts_with('[')) {
            at = &(*at)[static_cast<std::size_t>(std::stoul(std::string(path.substr(1))))];
            path.remove_prefix(path.find(']') + 1);
        }
        if (path.starts_with('.')) path.remove_prefix(1);
    }
    return *at;
}

namespace {

Json read_table(const fs::path& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return api::parse_yaml(text.str()).value();
}

std::vector<Row> read_rows() {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(test::data() / "rows"))
        if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    std::vector<Row> rows;
    for (const fs::path& path : paths) {
        const Json data = read_table(path);
        const Json& kinds = data["kinds"];
        for (const Json& kind : kinds.is_array() ? kinds.items() : Json::Array{data["base"]["kind"]}) {
            const Table table(path.stem().string() + " " + std::string(kind.as_string()), data,
                              kind.as_string());
            for (const Json& source : data["rows"].items()) rows.push_back(table.row(source));
        }
    }
    return rows;
}

}  // namespace

const std::vector<Row>& all_rows() {
    static const std::vector<Row> rows = read_rows();
    return rows;
}
