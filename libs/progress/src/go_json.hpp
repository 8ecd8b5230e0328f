#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "api/json.hpp"

namespace progress {

/// Reads one JSON text value by value, as Go's encoding/json does: bytes that are no UTF-8 and halves of
/// surrogate pairs become U+FFFD. Every function skips blanks first and returns false if the next value is of
/// another type or the text is broken; then the reader cannot be used any more. Nesting beyond max_json_depth
/// is an error.
///
/// Source: the package encoding/json of Go 1.25.
class GoJson {
public:
    explicit GoJson(std::string_view text) : rest_(text) {}

    /// Returns the first character of the next value; 0 at the end.
    char peek();
    bool null() { return word("null"); }
    bool string(std::string& out);
    /// Reads a number; `out` is its text.
    bool number(std::string_view& out);
    /// Skips any well-formed value.
    bool skip();

    /// Reads an object. Calls `member(key)` for each member, which has to read the value.
    template <class Member>
    bool object(const Member& member) {
        std::string key;
        return sequence('{', '}', [&] { return string(key) && take(':') && member(std::string_view(key)); });
    }
    /// Reads a list. Calls `item()` for each item, which has to read it.
    template <class Item>
    bool array(const Item& item) {
        return sequence('[', ']', item);
    }

private:
    template <class Each>
    bool sequence(char open, char close, const Each& each) {
        if (!take(open) || ++depth_ > api::max_json_depth) return false;
        if (!take(close)) {
            do {
                if (!each()) return false;
            } while (take(','));
            if (!take(close)) return false;
        }
        --depth_;
        return true;
    }
    bool take(char wanted);
    bool word(std::string_view wanted);
    bool escape(std::string& out);

    std::string_view rest_;
    std::size_t depth_ = 0;
};

/// Returns whether Go decodes a member `key` into the field `name`, which is ASCII: without case, by
/// Unicode's simple folding.
bool is_field(std::string_view key, std::string_view name);

}  // namespace progress
