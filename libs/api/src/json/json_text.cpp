// Reads JSON text. The only file of the project that includes RapidJSON. Without RAPIDJSON_SSE2: in 1.1.0 it
// accepts control characters in strings, and breaks strings with escapes.
#include <rapidjson/encodedstream.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <memory>

#include "api/json.hpp"
#include "api/text.hpp"
#include "json/json_skip.hpp"
#include "json/json_words.hpp"
#include "json/number.hpp"

namespace api {
namespace {

// The buffers of a thread, reused for each text, because allocating and freeing large blocks slows the heap
// down.
struct Scratch {
    std::string text = {};
    JsonObject::Members waiting = {};

    // A large buffer is released after its text.
    void forget_large_blocks() {
        constexpr std::size_t large = 64 * 1024;
        if (text.capacity() > large) text = std::string();
        waiting.clear();
        if (waiting.capacity() * sizeof(JsonObject::Member) > large) waiting = JsonObject::Members();
    }
};

// The input of RapidJSON: text that is decoded in place, as in its own stream for that. The position can be
// moved ahead.
class Text {
public:
    using Ch = char;

    explicit Text(char* begin) : begin_(begin), at_(begin), decoded_(begin) {}
    Text(const Text&) = default;
    // RapidJSON reads from a copy and assigns it back. A position that has been moved ahead in between stays.
    Text& operator=(const Text& read) {
        at_ = std::max(at_, read.at_);
        decoded_ = read.decoded_;
        return *this;
    }
    ~Text() = default;

    const char* begin() const { return begin_; }
    /// Continues at the last two bytes before `end`, as if only ":0" were there.
    void go_on_with_zero_before(const char* end) {
        at_ = begin_ + (end - begin_) - 2;
        at_[0] = ':';
        at_[1] = '0';
    }

    char Peek() const { return *at_; }
    char Take() { return *at_++; }
    std::size_t Tell() const { return static_cast<std::size_t>(at_ - begin_); }
    /// Skips the ordinary characters of a string or a number, which need no decoding.
    char* PutBegin() {
        char* const begin = at_;
        if (begin != begin_ && begin[-1] == '"') at_ += find_special(begin) - begin;
        decoded_ = at_;
        return begin;
    }
    void Put(char c) { *decoded_++ = c; }
    std::size_t PutEnd(const char* begin) const { return static_cast<std::size_t>(decoded_ - begin); }
    void Flush() {}
    char* Push(std::size_t count) { return std::exchange(decoded_, decoded_ + count); }
    void Pop(std::size_t count) { decoded_ -= count; }

private:
    char* begin_;
    char* at_;
    char* decoded_;
};

}  // namespace
}  // namespace api

template <>
struct rapidjson::StreamTraits<api::Text> {
    enum { copyOptimization = 1 };
};
// Inline: there is hardly ever any, and it is asked for between all tokens.
template <>
inline void rapidjson::SkipWhitespace(api::Text& text) {
    for (;;) switch (text.Peek()) {
            case ' ':
            case '\n':
            case '\r':
            case '\t': text.Take(); break;
            default: return;
        }
}

namespace api {
namespace {

// Assigns in place: a value that is made and then assigned is moved twice.
template <class Place, class Value>
void remake(Place& place, Value&& value) {
    std::destroy_at(&place);
    std::construct_at(&place, std::forward<Value>(value));
}

// Builds a tree from RapidJSON's events. Finished values and their keys wait on a stack until their container
// closes, so that every array and object is allocated once, at its final size.
class TreeBuilder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, TreeBuilder> {
public:
    /// `source` is the text before `text` is decoded. `waiting` is empty.
    TreeBuilder(std::string_view source, Text& text, JsonPaths omit, JsonObject::Members& waiting)
        : source_(source),
          text_(text),
          has_escapes_(source.find("\\u") != source.npos),
          left_out_(omit),
          waiting_(waiting) {
        open_.reserve(32);
        for (const JsonPath& path : omit) depths_left_out_ |= bit_of(path.size());
    }

    bool Null() { return add(nullptr); }
    bool Bool(bool value) { return add(value); }
    // Numbers arrive as text (kParseNumbersAsStringsFlag) and are converted here. So RapidJSON's own
    // conversion, in which exponents overflow in release 1.1.0 (CVE-2024-38517, CVE-2024-39684), never runs.
    bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
        const char* end = text + size;
        std::int64_t integer = 0;
        if (auto [at, failed] = std::from_chars(text, end, integer); failed == std::errc() && at == end)
            return add(integer);
        if (const auto number = to_double({text, size})) return add(*number);
        problem = "a number is out of range: " + std::string(text, std::min<std::size_t>(size, 40));
        return false;
    }
    bool String(const char* text, rapidjson::SizeType size, bool) {
        return is_utf8({text, size}) && add(std::string_view(text, size));
    }
    bool Key(const char* text, rapidjson::SizeType size, bool) {
        const std::string_view key(text, size);
        if (!is_utf8(key)) return false;
        if (is_skipping()) return true;
        if (is_left_out(key)) {
            skipping_since_ = depth_;
            pass_over_value_of(key);
            return true;
        }
        remake(waiting_.emplace_back().key, key);
        return true;
    }
    bool StartObject() { return open(true); }
    bool StartArray() { return open(false); }
    bool EndObject(rapidjson::SizeType) {
        if (!close()) return true;
        const auto first = begin_of_closed();
        JsonObject::Members members(std::make_move_iterator(first), std::make_move_iterator(waiting_.end()));
        waiting_.erase(first, waiting_.end());
        return put(JsonObject(std::move(members)));
    }
    bool EndArray(rapidjson::SizeType) {
        if (!close()) return true;
        const auto first = begin_of_closed();
        Json::Array items;
        items.reserve(static_cast<std::size_t>(waiting_.end() - first));
        for (auto at = first; at != waiting_.end(); ++at) items.push_back(std::move(at->value));
        waiting_.erase(first, waiting_.end());
        return put(std::move(items));
    }

    Json take() { return std::move(waiting_.back().value); }
    std::string problem;

private:
    struct Container {
        std::size_t begin = 0;  // of its members in waiting_
        bool is_object = false;
    };

    // Adds a scalar.
    template <class Value>
    bool add(Value value) {
        if (is_skipping()) {
            end_skipping();
            return true;
        }
        return put(value);
    }
    // In an object, its key is on the stack already.
    template <class Value>
    bool put(Value&& value) {
        if (open_.empty() || !open_.back().is_object) waiting_.emplace_back();
        remake(waiting_.back().value, std::forward<Value>(value));
        return true;
    }
    bool open(bool is_object) {
        if (++depth_ > max_json_depth) {
            problem = "nested more than " + std::to_string(max_json_depth) + " levels deep";
            return false;
        }
        if (!is_skipping()) open_.push_back({waiting_.size(), is_object});
        return true;
    }
    // Returns whether the value is stored.
    bool close() {
        --depth_;
        if (!is_skipping()) return true;
        end_skipping();
        return false;
    }
    JsonObject::Members::iterator begin_of_closed() {
        const auto begin = static_cast<std::ptrdiff_t>(open_.back().begin);
        open_.pop_back();
        return waiting_.begin() + begin;
    }

    // Replaces the value of the member that has just begun by a number, if json_skip can skip it. RapidJSON
    // reads the others.
    void pass_over_value_of(std::string_view key) {
        const auto begin = static_cast<std::size_t>(key.data() - text_.begin());
        // A name with escapes is longer in the text than decoded.
        const bool as_written = key.find('\\') == key.npos && source_.substr(begin, key.size()) == key &&
                                source_[begin + key.size()] == '"';
        const char* const colon = key.data() + key.size() + 1;
        if (!as_written || *colon != ':') return;
        const char* const end = skip_json(colon + 1, max_json_depth - depth_);
        // Any other character is an error, which a number could hide.
        if (end && (*end == ',' || *end == '}')) text_.go_on_with_zero_before(end);
    }

    // Of a set of depths; deeper ones share the last bit.
    static std::uint64_t bit_of(std::size_t depth) {
        return std::uint64_t(1) << std::min<std::size_t>(depth, 63);
    }
    bool is_left_out(std::string_view key) const {
        if ((depths_left_out_ & bit_of(depth_)) == 0) return false;
        return std::any_of(left_out_.begin(), left_out_.end(), [&](const JsonPath& path) {
            return path.size() == depth_ && path.back() == key && leads_here(path);
        });
    }
    bool is_skipping() const { return skipping_since_ > 0; }
    // Called after the value of an omitted key.
    void end_skipping() {
        if (depth_ == skipping_since_) skipping_since_ = 0;
    }
    // Returns whether all but the last step of a path, which has the present depth, lead to this container.
    bool leads_here(const JsonPath& path) const {
        // The key of an open container is the one on the stack when it was opened.
        for (std::size_t level = 1; level < depth_; ++level)
            if (open_[level - 1].is_object
                    ? open_[level].begin == 0 || waiting_[open_[level].begin - 1].key != path[level - 1]
                    : path[level - 1] != "[]")
                return false;
        return true;
    }

    // RapidJSON 1.1.0 accepts "\udc00" alone and encodes it.
    bool is_utf8(std::string_view text) {
        if (!has_escapes_) return true;
        for (auto at = text.find('\xED'); at != text.npos; at = text.find('\xED', at + 1)) {
            if (static_cast<unsigned char>(text[at + 1]) < 0xA0) continue;
            problem = "half of a surrogate pair";
            return false;
        }
        return true;
    }

    std::string_view source_;
    Text& text_;
    bool has_escapes_ = false;
    JsonPaths left_out_ = {};
    std::uint64_t depths_left_out_ = 0;
    JsonObject::Members& waiting_;
    std::vector<Container> open_ = {};
    std::size_t depth_ = 0;
    std::size_t skipping_since_ = 0;  // the depth of the omitted member; 0: none
};

// Stops RapidJSON at the string that is searched for.
class StringFinder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, StringFinder> {
public:
    explicit StringFinder(JsonPath path) : path_(path) {}

    bool Default() { return leave(); }
    bool RawNumber(const char*, rapidjson::SizeType, bool) { return leave(); }
    bool String(const char* text, rapidjson::SizeType size, bool) {
        if (led_ < path_.size() || led_ != depth_) return leave();
        found.assign(text, size);
        return false;
    }
    bool Key(const char* text, rapidjson::SizeType size, bool) {
        if (led_ + 1 == depth_ && led_ < path_.size() && path_[led_] == std::string_view(text, size)) ++led_;
        return true;
    }
    bool StartObject() { return enter(); }
    bool StartArray() { return enter(); }
    bool EndObject(rapidjson::SizeType) { return end(); }
    bool EndArray(rapidjson::SizeType) { return end(); }

    std::string found = {};

private:
    bool enter() { return ++depth_ <= max_json_depth; }
    bool end() {
        --depth_;
        return leave();
    }
    // After a value, its key is no longer part of the path.
    bool leave() {
        led_ = std::min(led_, depth_ > 0 ? depth_ - 1 : 0);
        return true;
    }

    JsonPath path_;
    std::size_t depth_ = 0;
    std::size_t led_ = 0;  // number of matching steps of the path, up to the present member
};

Error broken_at(std::size_t byte, const std::string& why) {
    return invalid("", "not valid JSON at byte " + std::to_string(byte) + ": " + why);
}

Result<Json> read(std::string_view text, JsonPaths omit, Scratch& scratch) {
    // Checked at once and by words: RapidJSON's own check is by bytes.
    if (const auto at = find_invalid_character(text); at != text.npos) return broken_at(at, "not UTF-8");
    // RapidJSON is fastest on zero-terminated text that it may decode in place.
    scratch.text.assign(text).append(1 + bytes_beyond, '\0');
    Text stream(scratch.text.data());
    rapidjson::Reader reader;
    TreeBuilder builder(text, stream, omit, scratch.waiting);
    // The recursive parser is faster than the iterative one; the builder limits the depth.
    constexpr unsigned flags = rapidjson::kParseInsituFlag | rapidjson::kParseNumbersAsStringsFlag;
    const auto outcome = reader.Parse<flags>(stream, builder);
    if (outcome.IsError())
        return broken_at(stream.Tell(), builder.problem.empty() ? rapidjson::GetParseError_En(outcome.Code())
                                                                : builder.problem);
    // RapidJSON takes a zero byte for the end of the text.
    if (stream.Tell() != text.size()) return broken_at(stream.Tell(), "a NUL byte");
    return builder.take();
}

}  // namespace

Result<Json> parse_json(std::string_view text) { return parse_json_without(text, {}); }

Result<Json> parse_json_without(std::string_view text, JsonPaths omit) {
    thread_local Scratch scratch;
    auto tree = read(text, omit, scratch);
    scratch.forget_large_blocks();
    return tree;
}

std::string find_string(std::string_view text, JsonPath path) {
    rapidjson::MemoryStream bytes(text.data(), text.size());
    rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> stream(bytes);
    rapidjson::Reader reader;
    StringFinder finder(path);
    reader.Parse<rapidjson::kParseNumbersAsStringsFlag>(stream, finder);
    return std::move(finder.found);
}

}  // namespace api
