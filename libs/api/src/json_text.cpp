// JSON text in and out. The only file of the project that includes RapidJSON.
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <charconv>
#include <cmath>
#include <iterator>

#include "api/json.hpp"
#include "number.hpp"
#include "utf8.hpp"

namespace api {
namespace {

// Turns RapidJSON's events into a tree. Finished values wait on a stack until their container closes, so
// every array and object is allocated once, at its final size.
class TreeBuilder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, TreeBuilder> {
public:
    explicit TreeBuilder(bool has_escapes) : has_escapes_(has_escapes) {}

    bool Null() { return add(Json()); }
    bool Bool(bool value) { return add(Json(value)); }
    // Numbers arrive as text (kParseNumbersAsStringsFlag) and are converted here. So
    // RapidJSON's own conversion, where exponents overflow in release 1.1.0 (CVE-2024-38517, CVE-2024-39684),
    // never runs.
    bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
        const char* end = text + size;
        std::int64_t integer = 0;
        if (auto [at, failed] = std::from_chars(text, end, integer); failed == std::errc() && at == end)
            return add(Json(integer));
        if (const auto number = to_double({text, size})) return add(Json(*number));
        problem = "a number is out of range: " + std::string(text, std::min<std::size_t>(size, 40));
        return false;
    }
    bool String(const char* text, rapidjson::SizeType size, bool) {
        return is_utf8({text, size}) && add(Json(std::string(text, size)));
    }
    bool Key(const char* text, rapidjson::SizeType size, bool) {
        keys_.emplace_back(text, size);
        return is_utf8({text, size});
    }
    bool StartObject() { return open(); }
    bool StartArray() { return open(); }
    bool EndObject(rapidjson::SizeType count) {
        JsonObject::Members members;
        members.reserve(count);
        const auto values = values_.end() - count;
        const auto keys = keys_.end() - count;
        for (rapidjson::SizeType i = 0; i < count; ++i)
            members.push_back({std::move(keys[i]), std::move(values[i])});
        values_.erase(values, values_.end());
        keys_.erase(keys, keys_.end());
        return close(JsonObject(std::move(members)));
    }
    bool EndArray(rapidjson::SizeType count) {
        const auto first = values_.end() - count;
        Json::Array items(std::make_move_iterator(first), std::make_move_iterator(values_.end()));
        values_.erase(first, values_.end());
        return close(std::move(items));
    }

    Json take() { return std::move(values_.back()); }
    std::string problem;

private:
    bool add(Json value) {
        values_.push_back(std::move(value));
        return true;
    }
    bool open() {
        if (++depth_ <= max_json_depth) return true;
        problem = "nested more than " + std::to_string(max_json_depth) + " levels deep";
        return false;
    }
    bool close(Json container) {
        --depth_;
        return add(std::move(container));
    }
    // RapidJSON 1.1.0 lets "\udc00" alone pass and encodes it.
    bool is_utf8(std::string_view text) {
        if (!has_escapes_) return true;
        for (auto at = text.find('\xED'); at != text.npos; at = text.find('\xED', at + 1)) {
            if (static_cast<unsigned char>(text[at + 1]) < 0xA0) continue;
            problem = "half of a surrogate pair";
            return false;
        }
        return true;
    }

    bool has_escapes_ = false;
    std::vector<Json> values_;
    std::vector<std::string> keys_;
    std::size_t depth_ = 0;
};

std::optional<std::int64_t> as_integer(double value) {
    if (!(value >= -0x1p63 && value < 0x1p63) || std::trunc(value) != value) return std::nullopt;
    return static_cast<std::int64_t>(value);
}

Error broken_at(std::size_t byte, const std::string& why) {
    return invalid("", "not valid JSON at byte " + std::to_string(byte) + ": " + why);
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
    // At once and by words: RapidJSON's own check goes byte by byte.
    if (const auto at = utf8::find_broken(text); at != text.npos) return broken_at(at, "not UTF-8");
    rapidjson::MemoryStream memory(text.data(), text.size());
    rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> stream(memory);
    rapidjson::Reader reader;
    TreeBuilder builder(text.find("\\u") != text.npos);
    constexpr unsigned flags = rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag;
    const auto outcome = reader.Parse<flags>(stream, builder);
    if (outcome.IsError())
        return broken_at(stream.Tell(), builder.problem.empty() ? rapidjson::GetParseError_En(outcome.Code())
                                                                : builder.problem);
    // RapidJSON takes a NUL byte for the end of the text.
    if (stream.Tell() != text.size()) return broken_at(stream.Tell(), "a NUL byte");
    return builder.take();
}

// Walks a tree; named because Json lets it look inside.
class JsonWriter {
public:
    std::string write(const Json& value) {
        emit(value);
        return {buffer_.GetString(), buffer_.GetSize()};
    }

private:
    void emit(const Json& value) {
        std::visit([this](const auto& v) { put(v); }, value.value_);
    }
    void put(std::monostate) { writer_.Null(); }
    void put(bool value) { writer_.Bool(value); }
    void put(std::int64_t value) { writer_.Int64(value); }
    void put(double value) {
        // Equal trees give equal bytes, and 1e17 equals an integer; so does -0.
        if (const auto integer = as_integer(value)) return put(*integer);
        // Shortest text that reads back as the same double. JSON has no infinities; parse_json never makes
        // one.
        char text[32];
        const auto end = std::to_chars(text, text + sizeof text, std::isfinite(value) ? value : 0.0).ptr;
        writer_.RawValue(text, static_cast<std::size_t>(end - text), rapidjson::kNumberType);
    }
    void put(const std::string& value) {
        writer_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
    }
    void put(const Json::Array& items) {
        writer_.StartArray();
        for (const Json& item : items) emit(item);
        writer_.EndArray();
    }
    void put(const Json::Object& members) {
        writer_.StartObject();
        for (const auto& [key, value] : members) {
            put_key(key);
            emit(value);
        }
        writer_.EndObject();
    }
    void put_key(const std::string& key) {
        writer_.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
    }

    rapidjson::StringBuffer buffer_;
    rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
};

std::string to_json(const Json& value) { return JsonWriter().write(value); }

}  // namespace api
