#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "cel.hpp"
#include "regex.hpp"

namespace crd {

/// x-kubernetes-validations.
struct Rule {
    cel::Expression holds;
    std::optional<cel::Expression> says = {};  ///< messageExpression
    std::string message = {};
    std::string reason = {};
    std::string field = {};  ///< below the field that the rule stands at: ".activeDeadlineSeconds"
    bool compares = false;   ///< with oldSelf: only asked on updates
};

struct Pattern {
    std::string text = {};
    Regex regex;
};

/// A structural schema, as the validator wants it.
struct Node {
    enum class Type { any, object, array, string, integer, number, boolean, int_or_string };
    enum class ListType { atomic, set, map };

    Type type = Type::any;
    bool nullable = false;
    bool keeps_unknown = false;
    std::optional<api::Json> fallback = {};  ///< "default"

    std::map<std::string, Node, std::less<>> properties = {};
    std::unique_ptr<Node> values = {};  ///< additionalProperties
    std::vector<std::string> required = {};
    std::optional<std::size_t> min_properties = {};
    std::optional<std::size_t> max_properties = {};

    std::unique_ptr<Node> items = {};
    ListType list_type = ListType::atomic;
    std::vector<std::string> keys = {};  ///< of a ListType::map
    std::optional<std::size_t> min_items = {};
    std::optional<std::size_t> max_items = {};

    std::vector<api::Json> allowed = {};  ///< "enum"
    std::optional<double> minimum = {};
    std::optional<double> maximum = {};
    std::optional<std::size_t> min_length = {};
    std::optional<std::size_t> max_length = {};
    std::optional<Pattern> pattern = {};
    std::string format = {};

    std::vector<Rule> rules = {};

    /// What the schema says of a member; nullptr if it does not know it.
    const Node* member(std::string_view key) const {
        const auto property = properties.find(key);
        return property == properties.end() ? values.get() : &property->second;
    }
};

/// Throws std::invalid_argument for what is not covered.
Node compile(const api::Json& schema);

/// With the items of sets and list maps in a fixed order: it is not theirs that counts when values are
/// compared.
api::Json canonical(const Node& node, const api::Json& value);

/// What identifies an item of a list map; of a set it is the item itself.
api::Json identity(const Node& list, const api::Json& item);

std::vector<std::string> bring_to_stored_form(const Node& root, api::Json& object);

}  // namespace crd
