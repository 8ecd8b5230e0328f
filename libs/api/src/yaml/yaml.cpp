// The only file of the project that includes yaml-cpp. It uses the event interface, not the node tree: nodes
// share the values of aliases, and have no position of the second of two equal keys.
#include "api/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>
#include <map>
#include <set>
#include <sstream>

#include "api/text.hpp"
#include "yaml/yaml_parts.hpp"

namespace api {
namespace {

// The maximum memory of all copies for anchors and aliases, against the "billion laughs" attack.
constexpr std::size_t max_alias_bytes = 1 << 20;

// Leaves yaml-cpp's parser as its own exceptions do; caught in this file.
struct Problem {
    YAML::Mark mark;
    std::string why;
};

[[noreturn]] void refuse(const YAML::Mark& mark, std::string why) { throw Problem{mark, std::move(why)}; }

Error at_mark(const YAML::Mark& mark, const std::string& why) {
    if (mark.is_null()) return invalid("", "not valid YAML: " + why);
    return invalid("", "line " + std::to_string(mark.line + 1) + ", column " +
                           std::to_string(mark.column + 1) + ": " + why);
}

// Counts the bytes and levels of a tree; stops once it is over the limit.
struct Weight {
    std::size_t bytes = 0;
    std::size_t depth = 0;
};

Weight weigh(const Json& value) {
    Weight weight = {.bytes = sizeof(JsonObject::Member) + value.as_string().size()};
    const auto add = [&](const Json& child, std::size_t more) {
        if (weight.bytes > max_alias_bytes) return;
        const Weight inner = weigh(child);
        weight.bytes += inner.bytes + more;
        weight.depth = std::max(weight.depth, inner.depth);
    };
    for (const Json& item : value.items()) add(item, 0);
    for (const auto& [key, member] : value.members()) add(member, key.size());
    if (value.is_array() || value.is_object()) ++weight.depth;
    return weight;
}

// An unfinished map or list.
struct Frame {
    bool is_map = false;
    bool is_block = false;
    YAML::anchor_t anchor = YAML::NullAnchor;
    Json::Array items = {};
    JsonObject::Members members = {};
    std::set<std::string> keys = {};      // sorted, since keys with equal hashes are easily made
    std::optional<std::string> key = {};  // of the next value
    YAML::Mark key_mark = {};
    std::string path = {};
    bool merging = false;  // the next value belongs to "<<"
    std::vector<Json> merged = {};
};

std::string key_text(const YAML::Mark& mark, const Json& key) {
    if (key.is_string()) return std::string(key.as_string());
    if (key.is_null()) refuse(mark, "null cannot be a key");
    if (key.is_array() || key.is_object()) refuse(mark, "a map or a list cannot be a key");
    return to_json(key);
}

// yaml-cpp writes the escapes \N and \_ as the bytes 0x85 and 0xA0, which are two bytes each in UTF-8. No
// other bytes can be wrong: the whole text has been checked.
std::string repaired(const std::string& scalar) {
    if (find_invalid_character(scalar) == std::string::npos) return scalar;
    std::string text;
    for (std::string_view rest = scalar; !rest.empty();) {
        const std::string_view before = rest;
        if (take_character(rest) == invalid_character) text += '\xC2';
        text.append(before.substr(0, before.size() - rest.size()));
    }
    return text;
}

// Keys of a map itself override merged ones, earlier merged ones override later ones.
Json finish_map(Frame& frame) {
    for (Json& map : frame.merged)
        for (auto& [key, value] : map.members())
            if (frame.keys.insert(key).second) frame.members.push_back({key, std::move(value)});
    return JsonObject(std::move(frame.members));
}

enum class Want { values, lines_as_well, one_value };

class TreeBuilder final : public YAML::EventHandler {
public:
    TreeBuilder(std::string_view text, Want want)
        : lines_(split(text)), with_lines_(want == Want::lines_as_well), only_one_(want == Want::one_value) {}

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (started_ && !is_separated(mark)) refuse(mark, "expected the end of the document");
        if (started_ && only_one_) refuse(mark, "expected one YAML document");
        started_ = true;
        last_start_ = mark;
        anchors_.clear();
        lines_of_values_.clear();
    }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        // yaml-cpp reads a last line of one word as a key, and then replaces it by the value.
        if (expects_value() && frames_.back().is_block && mark.pos == frames_.back().key_mark.pos)
            refuse(mark, "expected a colon behind the key");
        note_place(mark);
        add(mark, anchor, Json());
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const auto at = anchors_.find(anchor);
        if (at == anchors_.end()) refuse(mark, "an alias inside of what it names");
        if (charge(mark, at->second) + frames_.size() > max_json_depth) refuse_depth(mark);
        note_place(mark);
        add(mark, YAML::NullAnchor, at->second);
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& scalar) override {
        const std::string value = repaired(scalar);
        const bool plain = tag == "?";
        if (expects_key() && value == "<<" && (plain || tag == "tag:yaml.org,2002:merge"))
            return start_merge(mark);
        // "!" is yaml-cpp's tag for quoted and block scalars.
        auto resolved = plain        ? yaml::resolve_plain(value)
                        : tag == "!" ? Result<Json>(value)
                                     : yaml::resolve_tagged(tag, value);
        if (!resolved) refuse(mark, resolved.error().message);
        note_place(mark);
        add(mark, anchor, *std::move(resolved));
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(mark, {.is_map = false, .anchor = anchor});
    }
    void OnSequenceEnd() override { close(frames_.back().items); }
    void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value style) override {
        open(mark, {.is_map = true, .is_block = style == YAML::EmitterStyle::Block, .anchor = anchor});
    }
    void OnMapEnd() override { close(finish_map(frames_.back())); }

    bool is_beyond_text(const YAML::Mark& mark) const { return mark.line >= static_cast<int>(lines_.size()); }

    std::vector<LocatedDocument> documents;

private:
    static std::vector<std::string_view> split(std::string_view text) {
        std::vector<std::string_view> lines;
        while (!text.empty()) {
            const auto end = std::min(text.find('\n'), text.size() - 1) + 1;
            lines.push_back(text.substr(0, end));
            text.remove_prefix(end);
        }
        return lines;
    }
    bool line_starts_with(int line, std::string_view marker) const {
        const auto i = static_cast<std::size_t>(line);
        return i < lines_.size() && lines_[i].starts_with(marker);
    }
    // yaml-cpp reads text after a document that it cannot parse as another document, and never advances.
    bool is_separated(const YAML::Mark& mark) const {
        if (mark.column == 0 && line_starts_with(mark.line, "---")) return true;
        for (int line = last_start_.line + 1; line < mark.line; ++line)
            if (line_starts_with(line, "...")) return true;
        return false;
    }

    bool expects_key() const {
        return !frames_.empty() && frames_.back().is_map && !frames_.back().key && !frames_.back().merging;
    }
    bool expects_value() const { return !frames_.empty() && frames_.back().is_map && !expects_key(); }
    [[noreturn]] static void refuse_depth(const YAML::Mark& mark) {
        refuse(mark, "nested more than " + std::to_string(max_json_depth) + " levels deep");
    }
    // Returns the depth of the value.
    std::size_t charge(const YAML::Mark& mark, const Json& value) {
        const Weight weight = weigh(value);
        alias_bytes_ += weight.bytes;
        if (alias_bytes_ > max_alias_bytes)
            refuse(mark, "anchors and aliases stand for more than a megabyte");
        return weight.depth;
    }
    void open(const YAML::Mark& mark, Frame frame) {
        if (frames_.size() >= max_json_depth) refuse_depth(mark);
        frame.path = note_place(mark);
        frames_.push_back(std::move(frame));
        marks_.push_back(mark);
    }
    // The path of the next value; only set with lines, since paths of deep trees are long.
    std::string note_place(const YAML::Mark& mark) {
        if (!with_lines_ || frames_.empty() || expects_key()) return "";
        const Frame& frame = frames_.back();
        // Merged values keep the position of their origin.
        if (frame.merging || (frame.path.empty() && frames_.size() > 1)) return "";
        std::string path = frame.path;
        if (frame.is_map)
            path += (path.empty() ? "" : ".") + *frame.key;
        else
            path += "[" + std::to_string(frame.items.size()) + "]";
        lines_of_values_.emplace(path, (frame.is_map ? frame.key_mark : mark).line + 1);
        return path;
    }
    void close(Json value) {
        const YAML::Mark mark = marks_.back();
        const YAML::anchor_t anchor = frames_.back().anchor;
        frames_.pop_back();
        marks_.pop_back();
        add(mark, anchor, std::move(value));
    }
    void start_merge(const YAML::Mark& mark) {
        if (!frames_.back().keys.insert("<<").second) refuse(mark, "duplicate key \"<<\"");
        frames_.back().merging = true;
        frames_.back().key_mark = mark;
    }
    void add(const YAML::Mark& mark, YAML::anchor_t anchor, Json value) {
        if (anchor != YAML::NullAnchor) {
            charge(mark, value);
            anchors_[anchor] = value;
        }
        if (frames_.empty()) {
            documents.push_back({std::move(value), mark.line + 1, std::exchange(lines_of_values_, {})});
            return;
        }
        Frame& frame = frames_.back();
        if (!frame.is_map)
            frame.items.push_back(std::move(value));
        else if (frame.merging)
            merge(mark, frame, std::move(value));
        else if (!frame.key)
            add_key(mark, frame, key_text(mark, value));
        else
            frame.members.push_back({*std::exchange(frame.key, std::nullopt), std::move(value)});
    }
    static void add_key(const YAML::Mark& mark, Frame& frame, std::string key) {
        if (!frame.keys.insert(key).second) refuse(mark, "duplicate key " + to_json(key));
        frame.key = std::move(key);
        frame.key_mark = mark;
    }
    static void merge(const YAML::Mark& mark, Frame& frame, Json value) {
        frame.merging = false;
        if (value.is_object()) value = Json::array({std::move(value)});
        if (!value.is_array()) refuse(mark, "\"<<\" takes a map or a list of maps");
        for (Json& map : value.items()) {
            if (!map.is_object()) refuse(mark, "\"<<\" takes a map or a list of maps");
            frame.merged.push_back(std::move(map));
        }
    }

    std::vector<std::string_view> lines_;
    YAML::Mark last_start_;
    bool started_ = false;
    std::vector<Frame> frames_;
    std::vector<YAML::Mark> marks_;
    std::map<YAML::anchor_t, Json> anchors_;
    bool with_lines_;
    bool only_one_;
    Lines lines_of_values_;
    std::size_t alias_bytes_ = 0;
};

// yaml-cpp takes the byte 0x04 for the end of the text, and replaces broken UTF-8 silently.
std::optional<Error> find_unprintable(std::string_view text) {
    int line = 0;
    int column = 0;
    while (!text.empty()) {
        const char32_t c = take_character(text);
        const bool printable = c == '\t' || c == '\n' || c == '\r' || c == 0x85 ||
                               (!is_control(c) && c != 0xFEFF && c != 0xFFFE && c != 0xFFFF);
        if (c == invalid_character || !printable) {
            YAML::Mark mark;
            mark.line = line;
            mark.column = column;
            return at_mark(mark, c == invalid_character ? "not valid UTF-8" : "a control character");
        }
        line = c == '\n' ? line + 1 : line;
        column = c == '\n' ? 0 : column + 1;
    }
    return std::nullopt;
}

bool looks_like_json(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

using Documents = std::vector<LocatedDocument>;

Result<Documents> read(std::string_view text, std::string_view end_marker, Want want) {
    TreeBuilder builder(text, want);
    try {
        std::istringstream stream(std::string(text).append(end_marker));
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(builder)) {
        }
    } catch (const Problem& problem) {
        return at_mark(problem.mark, problem.why);
    } catch (const YAML::Exception& error) {
        return at_mark(error.mark,
                       builder.is_beyond_text(error.mark) ? "the text ends too early" : error.msg);
    }
    std::erase_if(builder.documents, [](const auto& document) { return document.value.is_null(); });
    return std::move(builder.documents);
}

// With a line break at the end, yaml-cpp reports a quoted string that is not closed.
std::string_view end_marker_after(std::string_view text) {
    return text.empty() || text.back() == '\n' ? "...\n" : "\n...\n";
}

Result<Documents> read_yaml(std::string_view text, Want want) {
    if (auto error = find_unprintable(text)) return *std::move(error);
    auto documents = read(text, end_marker_after(text), want);
    // In a literal block, a last line without its end differs from one with it.
    return documents && !text.empty() && text.back() != '\n' ? read(text, "", want) : documents;
}

std::string_view without_byte_order_mark(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    return text;
}

// This is faster, and yaml-cpp does not read JSON's surrogate pairs. For broken JSON, the YAML reader returns
// an error with line and column.
std::optional<Json> read_json(std::string_view text) {
    if (!looks_like_json(text)) return std::nullopt;
    auto json = parse_json(text);
    return json ? std::optional<Json>(*std::move(json)) : std::nullopt;
}

}  // namespace

Result<std::vector<LocatedDocument>> parse_located_yaml(std::string_view text) {
    text = without_byte_order_mark(text);
    auto documents = read_yaml(text, Want::lines_as_well);
    auto json = read_json(text);
    if (!json) return documents;
    if (!documents || documents->size() != 1) return Documents{{.value = *std::move(json)}};
    documents->front().value = *std::move(json);
    return documents;
}

int line_of(const Lines& lines, std::string_view path, int fallback) {
    while (!path.empty()) {
        if (const auto at = lines.find(path); at != lines.end()) return at->second;
        const auto cut = path.find_last_of(".[");
        path = path.substr(0, cut == path.npos ? 0 : cut);
    }
    return fallback;
}

Result<std::vector<Json>> parse_yaml_documents(std::string_view text) {
    text = without_byte_order_mark(text);
    if (auto json = read_json(text)) return std::vector<Json>{*std::move(json)};
    auto documents = read_yaml(text, Want::values);
    if (!documents) return documents.error();
    std::vector<Json> values;
    for (LocatedDocument& document : *documents) values.push_back(std::move(document.value));
    return values;
}

Result<Json> parse_yaml(std::string_view text) {
    auto documents = parse_yaml_documents(text);
    if (!documents) return documents.error();
    if (documents->size() > 1)
        return invalid("", "expected one YAML document and found " + std::to_string(documents->size()));
    return documents->empty() ? Json() : std::move(documents->front());
}

Result<Json> parse_hostile_yaml(std::string_view text, std::size_t most_tokens) {
    if (yaml::count_tokens(text) > most_tokens)
        return invalid("", "more than " + std::to_string(most_tokens) + " YAML tokens");
    text = without_byte_order_mark(text);
    if (auto error = find_unprintable(text)) return *std::move(error);
    auto documents = read(text, end_marker_after(text), Want::one_value);
    if (!documents) return documents.error();
    return documents->empty() ? Json() : std::move(documents->front().value);
}

}  // namespace api
