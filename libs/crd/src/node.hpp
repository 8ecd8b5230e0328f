#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "cel.hpp"
#include "regex.hpp"

namespace crd {

/// One rule of x-kubernetes-validations.
struct Rule {
    cel::Expression holds;
    std::optional<cel::Expression> says = {};  ///< messageExpression
    std::string message = {};
    std::string reason = {};
    std::string field = {};  ///< relative to the field of the rule: ".activeDeadlineSeconds"
    bool compares = false;   ///< reads oldSelf: evaluated only on updates
};

struct Pattern {
    std::string text = {};
    Regex regex;
};

/// A structural schema in the form that the validator needs.
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

    /// Returns the schema of a member; nullptr if the schema does not define it.
    const Node* member(std::string_view key) const {
        const auto property = properties.find(key);
        return property == properties.end() ? values.get() : &property->second;
    }
};

/// Throws std::invalid_argument for an unsupported keyword.
Node compile(const api::Json& schema);

/// Returns the value with the items of sets and list maps in a fixed order, since their order does not count
/// in comparisons.
api::Json canonical(const Node& node, const api::Json& value);

/// Returns the keys of an item of a list map; for a set the item itself.
api::Json identity(const Node& list, const api::Json& item);

std::vector<std::string> prune_and_default(const Node& root, api::Json& object);

// Paths as error messages write them: "spec.trainer.env[3].name".
inline std::string below(const std::string& path, std::string_view key) {
    return path.empty() ? std::string(key) : path + "." + std::string(key);
}

inline std::string at(const std::string& path, std::size_t index) {
    return path + "[" + std::to_string(index) + "]";
}

}  // namespace crd
