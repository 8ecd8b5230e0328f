// Line 1: a TrainJob, line 2: its old version, of any shape. The JSON Patch of admission can be applied, and
// admission makes none for the result.
#include <charconv>
#include <optional>

#include "input.hpp"
#include "merge/json_patch.hpp"
#include "runtime/validation.hpp"

namespace {

using api::Json;

std::string unescaped(std::string_view token) {
    std::string text;
    for (std::size_t i = 0; i < token.size(); ++i) {
        if (token[i] != '~') {
            text += token[i];
            continue;
        }
        MUST_HOLD(i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1'));
        text += token[++i] == '0' ? '~' : '/';
    }
    return text;
}

// Returns the value below `tree` for one token of a JSON Pointer.
Json* step(Json& tree, const std::string& token) {
    if (!tree.is_array()) return tree.find(token);
    std::size_t index = 0;
    const auto [end, failed] = std::from_chars(token.data(), token.data() + token.size(), index);
    MUST_HOLD(failed == std::errc() && end == token.data() + token.size());
    return index < tree.items().size() ? &tree.items()[index] : nullptr;
}

// The part of RFC 6902 that admission uses.
void apply(Json& tree, const Json& operation) {
    const std::string_view path = operation["path"].as_string();
    std::vector<std::string> tokens;
    for (std::size_t at = 0; at < path.size();) {
        MUST_HOLD(path[at] == '/');
        const auto end = std::min(path.find('/', at + 1), path.size());
        tokens.push_back(unescaped(path.substr(at + 1, end - at - 1)));
        at = end;
    }
    MUST_HOLD(!tokens.empty());
    Json* parent = &tree;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
        parent = step(*parent, tokens[i]);
        MUST_HOLD(parent);
    }
    MUST_HOLD(parent->is_object());
    if (operation["op"].as_string() == "add") {
        (*parent)[tokens.back()] = operation["value"];
    } else {
        MUST_HOLD(operation["op"].as_string() == "remove");
        MUST_HOLD(parent->erase(tokens.back()));
    }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto trees = trees_of(text_of(data, size), 2);
    const api::Time now = {};
    for (const Json& operation : runtime::default_train_job(trees[0], trees[1], now).operations)
        apply(trees[0], operation);
    MUST_HOLD(runtime::default_train_job(trees[0], trees[1], now).operations.empty());

    // A pointer leads to the member for which it was made.
    const std::string member(text_of(data, std::min<std::size_t>(size, 64)));
    Json holder = Json::object({{member, 1}});
    apply(holder, merge::remove_operation(merge::JsonPointer() / member));
    MUST_HOLD(holder.members().empty());
    return 0;
}
