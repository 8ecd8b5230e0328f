#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace merge {

struct Type;

/// How a field of a patch meets the field of the same name below it.
enum class Strategy : std::uint8_t {
    deep,         ///< objects merge member by member; scalars and lists replace
    by_key,       ///< a list whose items are told apart by one member
    as_set,       ///< a list of scalars, each once
    literal_map,  ///< a map of strings: every key is data, also one that looks like a directive
    keep_zero     ///< a scalar behind a pointer, or one that is always encoded: zero is a value
};

/// One field that needs to be known; all others are `deep`, and vanish when they are zero.
struct Field {
    std::string_view name;
    Strategy strategy = Strategy::deep;
    const Type* type = nullptr;  ///< of the object or of the list's items; nullptr: nothing to know about it
    std::string_view key = {};   ///< for by_key
};

/// Of the members of an object, one may be set.
struct OneOf {
    enum class Members : std::uint8_t { none, all, all_but_name, listed };
    Members members = Members::none;
    std::string_view first = {};  ///< for `listed`: the two
    std::string_view second = {};
};

/// A struct of the Kubernetes API, as far as merging has to know it.
struct Type {
    std::string_view name;
    std::span<const Field> fields = {};
    OneOf one_of = {};
};

/// nullptr for fields that are merged by the defaults.
const Field* find_field(const Type* type, std::string_view name);

/// JobSetSpec with all that a runtime patch can reach below it.
const Type& job_set_spec();
/// ResourceRequirements, with claims merged by name.
const Type& resource_requirements();

}  // namespace merge
