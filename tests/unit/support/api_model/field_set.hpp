#pragma once
// Sets of fields of server-side apply, over our trees. Sources: structured-merge-diff (sigs.k8s.io) for the
// rules, the CRD of JobSet 0.12 for which lists are maps and which maps are atomic.
#include <map>
#include <string>

#include "api/json.hpp"

namespace model {

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

/// Returns the set in the form of FieldsV1.
api::Json to_json_tree(const FieldSet& set);

/// Returns the fields that an applied configuration names, except those that identify the object.
FieldSet fields_of(const api::Json& object);

/// Returns the fields of an object that was created or updated without apply: maps and lists count besides
/// their members.
FieldSet fields_written(const api::Json& object);

/// Returns `live` with the fields of `config`: members one by one, items of a list that is a map by key,
/// other lists as a whole.
api::Json merged(const api::Json& live, const api::Json& config);

/// Returns `object` without the fields of `gone` that are not in `kept`.
api::Json pruned(const api::Json& object, const FieldSet& gone, const FieldSet& kept);

/// The difference of two versions of an object.
struct Difference {
    FieldSet changed = {};  ///< added or of another value
    FieldSet removed = {};
};
Difference difference(const api::Json& before, const api::Json& after);

}  // namespace model
