#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "api/json.hpp"
#include "json/json_words.hpp"

namespace api {
namespace {

std::optional<std::int64_t> as_integer(double value) {
    if (!(value >= -0x1p63 && value < 0x1p63) || std::trunc(value) != value) return std::nullopt;
    return static_cast<std::int64_t>(value);
}

}  // namespace

// Writes a tree. It has a name because Json makes it a friend.
class JsonWriter {
public:
    std::string write(const Json& value) {
        emit(value);
        text_.resize(size_);
        return std::move(text_);
    }

private:
    void emit(const Json& value) {
        using Kind = Json::Kind;
        switch (value.kind_) {
            case Kind::null: return put_text("null");
            case Kind::boolean: return put_text(value.bool_or(false) ? "true" : "false");
            case Kind::integer: return put(value.int_or(0));
            case Kind::real: return put(*value.as_double());
            case Kind::short_text:
            case Kind::long_text: return put(value.as_string());
            case Kind::array: return put(value.items());
            case Kind::object: return put(value.members());
        }
    }
    void put(std::int64_t value) { put_number(value); }
    void put(double value) {
        // Equal trees give equal bytes, and 1e17 equals an integer; so does -0.
        if (const auto integer = as_integer(value)) return put(*integer);
        // Shortest text that reads back as the same double. JSON has no infinities; parse_json never makes
        // one.
        put_number(std::isfinite(value) ? value : 0.0);
    }
    void put(std::string_view value) {
        // Nearly all characters need no escape. That is checked here, where bytes after the end may be read.
        char* const quoted = room(value.size() + 2 + bytes_beyond);
        char* const copy = quoted + 1;
        *quoted = '"';
        std::memcpy(copy, value.data(), value.size());
        copy[value.size()] = '"';
        const auto plain = static_cast<std::size_t>(find_special(copy) - copy);
        if (plain == value.size()) {
            size_ += plain + 2;
            return;
        }
        size_ += 1 + plain;
        for (value.remove_prefix(plain); !value.empty();) {
            const auto special = std::find_if(value.begin(), value.end(), is_special);
            put_text({value.begin(), special});
            if (special == value.end()) break;
            put_escaped(*special);
            value = {special + 1, value.end()};
        }
        put_char('"');
    }
    void put(const Json::Array& items) {
        put_char('[');
        for (const Json& item : items) {
            emit(item);
            put_char(',');
        }
        close(']', items.empty());
    }
    void put(const Json::Object& members) {
        put_char('{');
        for (const auto& [key, value] : members) {
            put(std::string_view(key));
            put_char(':');
            emit(value);
            put_char(',');
        }
        close('}', members.empty());
    }

    // Replaces the last comma.
    void close(char bracket, bool empty) {
        if (!empty) --size_;
        put_char(bracket);
    }
    template <class Number>
    void put_number(Number value) {
        constexpr std::size_t longest = 32;
        char* const begin = room(longest);
        size_ += static_cast<std::size_t>(std::to_chars(begin, begin + longest, value).ptr - begin);
    }
    void put_escaped(char c) {
        constexpr std::string_view hex = "0123456789ABCDEF";
        put_char('\\');
        switch (c) {
            case '"':
            case '\\': return put_char(c);
            case '\b': return put_char('b');
            case '\f': return put_char('f');
            case '\n': return put_char('n');
            case '\r': return put_char('r');
            case '\t': return put_char('t');
            default:
                put_text("u00");
                put_char(hex[static_cast<unsigned char>(c) >> 4]);
                put_char(hex[c & 15]);
        }
    }
    void put_text(std::string_view text) {
        std::memcpy(room(text.size()), text.data(), text.size());
        size_ += text.size();
    }
    void put_char(char c) {
        *room(1) = c;
        ++size_;
    }
    // Reserves room for so many more characters.
    char* room(std::size_t more) {
        if (text_.size() - size_ < more) text_.resize(std::max(2 * text_.size(), size_ + more));
        return text_.data() + size_;
    }

    std::string text_ = std::string(512, '\0');
    std::size_t size_ = 0;
};

std::string to_json(const Json& value) { return JsonWriter().write(value); }

}  // namespace api
