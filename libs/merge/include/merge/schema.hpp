#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace merge {

struct Type;

/// How a field of a patch is merged into the field of the same name in the base.
enum class Strategy : std::uint8_t {
    deep,         ///< objects merge member by member; scalars and lists replace
    by_key,       ///< a list whose items are identified by one member
    as_set,       ///< a list of scalars, each once
    literal_map,  ///< a map of strings: every key is data, even one that looks like a directive
    keep_zero     ///< a pointer to a scalar, or a scalar that is always encoded: zero is a value
};

/// A field with rules of its own. All others are `deep` and are dropped if they are zero.
struct Field {
    std::string_view name;
    Strategy strategy = Strategy::deep;
    const Type* type = nullptr;  ///< of the object or of the list's items; nullptr: no field has rules
    std::string_view key = {};   ///< for by_key
};

/// A group of members of which at most one may be set.
struct OneOf {
    enum class Members : std::uint8_t { none, all, all_but_name, listed };
    Members members = Members::none;
    std::string_view first = {};  ///< for `listed`: the two
    std::string_view second = {};
};

/// A struct of the Kubernetes API, with the parts that a merge needs.
struct Type {
    std::string_view name;
    std::span<const Field> fields = {};
    OneOf one_of = {};
};

/// Returns nullptr for fields that are merged by default.
const Field* find_field(const Type* type, std::string_view name);

/// Returns JobSetSpec with all types that a runtime patch can reach.
const Type& job_set_spec();
/// Returns ResourceRequirements, whose claims are merged by name.
const Type& resource_requirements();

}  // namespace merge
