#pragma once
// What server-side apply calls a set of fields, over our trees. Sources: structured-merge-diff (sigs.k8s.io)
// for the rules, the CRD of JobSet 0.12 for which lists are maps and which maps are atomic.
#include <map>
#include <string>

#include "api/json.hpp"

namespace faults {

/// A set of paths. A path element is written as in FieldsV1: "f:spec", `k:{"name":"node"}`.
struct FieldSet {
    bool member = false;
    std::map<std::string, FieldSet> below = {};

    bool empty() const { return !member && below.empty(); }
    bool operator==(const FieldSet&) const = default;
};

FieldSet unite(const FieldSet& left, const FieldSet& right);
FieldSet intersect(const FieldSet& left, const FieldSet& right);
FieldSet subtract(const FieldSet& left, const FieldSet& right);

/// FieldsV1.
api::Json to_json_tree(const FieldSet& set);

/// The fields that a configuration which is applied names, but for those that identify it.
FieldSet fields_of(const api::Json& object);

/// The fields of whoever makes the object in another way: maps and lists count besides what is in them.
FieldSet fields_written(const api::Json& object);

/// `live` with what `config` says: members one by one, items of a list that is a map by key, the rest as a
/// whole.
api::Json merged(const api::Json& live, const api::Json& config);

/// `object` without what is in `gone` and not in `kept`.
api::Json pruned(const api::Json& object, const FieldSet& gone, const FieldSet& kept);

/// How one version of an object differs from another.
struct Difference {
    FieldSet changed = {};  ///< added or of another value
    FieldSet removed = {};
};
Difference difference(const api::Json& before, const api::Json& after);

}  // namespace faults
